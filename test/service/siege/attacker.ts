import { type IncomingMessage, request } from 'node:http';
import type { Isolation } from '../../../src/host/workers/isolation.ts';
import type { Person } from '../running.ts';

/** Where attackers find the service, and what they know of it. */
export interface Field {
  readonly url: string;
  /** Somebody with a token, who owns the databases of attackers and nothing else. */
  readonly stranger: Person;
  /** A database that others use under load; it has a public table `entry`. */
  readonly victim: string;
  /** A database of the stranger's with a public table `heap` of many rows. */
  readonly quarry: string;
}

/** One way to do harm, tried again and again until the siege ends. */
export interface Attacker {
  readonly name: string;
  /** Under which isolation the service promises to hold it. */
  readonly modes: readonly Isolation[];
  /** How many do it at once, and the pause of each between two tries. */
  readonly atOnce: number;
  readonly pauseMillis: number;
  /** Makes ready what it needs, before the siege begins. */
  prepare?(field: Field): Promise<void>;
  /** Tries it once and says what came of it in a word or two; `breach` if it was let in. */
  attack(field: Field, round: number): Promise<string>;
}

export const bothModes: readonly Isolation[] = ['thread', 'process'];

/** What came of the tries of one attacker. */
export interface Outcomes {
  readonly name: string;
  tries: number;
  readonly counts: Map<string, number>;
}

export const breach = 'BREACH';

/** Lets an attacker go on until `end`, a time of `Date.now`. Never rejects. */
export async function besiege(attacker: Attacker, field: Field, end: number): Promise<Outcomes> {
  const outcomes: Outcomes = { name: attacker.name, tries: 0, counts: new Map() };
  const one = async () => {
    while (Date.now() < end) {
      const round = outcomes.tries;
      outcomes.tries += 1;
      const outcome = await attacker.attack(field, round).catch(labelOf);
      outcomes.counts.set(outcome, (outcomes.counts.get(outcome) ?? 0) + 1);
      await pause(attacker.pauseMillis);
    }
  };
  await Promise.all(Array.from({ length: attacker.atOnce }, one));
  return outcomes;
}

/** An error as an outcome. */
export function labelOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' ? code : String(message).slice(0, 60);
}

export interface Strike {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly as?: Person;
  /** After which nothing is waited for any more. */
  readonly millisMax?: number;
}

/** One request, on a connection of its own, whose answer is read; resolves to its status. */
export async function strike(field: Field, path: string, given: Strike = {}): Promise<string> {
  return (await answerTo(field, path, given)).status;
}

export function answerTo(
  { url }: Field,
  path: string,
  { method = 'POST', headers = {}, body = '', as, millisMax = 20_000 }: Strike = {},
): Promise<{ readonly status: string; readonly text: string }> {
  const own = as === undefined ? {} : { authorization: `Bearer ${as.token}` };
  const ofJson = { 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const all = { ...ofJson, ...own, ...headers };
    const outgoing = request(`${url}${path}`, { method, headers: all, agent: false });
    const fail = (status: string) => resolve({ status, text: '' });
    const late = setTimeout(() => {
      outgoing.destroy();
      fail('no answer');
    }, millisMax);
    outgoing.on('response', (incoming: IncomingMessage) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        if (text.length < 65_536) text += chunk;
      });
      incoming.on('error', (error) => fail(labelOf(error)));
      incoming.on('close', () => {
        clearTimeout(late);
        resolve({ status: String(incoming.statusCode), text });
      });
    });
    outgoing.on('error', (error) => {
      clearTimeout(late);
      fail(labelOf(error));
    });
    outgoing.end(body);
  });
}

export function pause(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
