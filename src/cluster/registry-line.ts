import type { ReplicationControl } from '../host/databases/replication-control.ts';
import type { RegistryAnswer, RegistryChange } from '../host/replication/registry-change.ts';
import { limits } from '../limits.ts';
import { UnsentError } from './link-client.ts';

export interface RegistryLineOptions {
  /** Asks another host for what it answers below a path; rejects if it does not. */
  readonly ask: (
    address: string,
    path: string,
    ask: { readonly body?: Uint8Array; readonly millisMax: number },
  ) => Promise<unknown>;
  /** Addresses of the other hosts that live. */
  readonly others: () => readonly string[];
}

export type HostedRegistry = Pick<
  ReplicationControl,
  'changeRegistry' | 'untilRegistry' | 'registryOffset'
>;

/** What hosts ask each other about the registry of their cluster. */
export class RegistryLine {
  readonly #options: RegistryLineOptions;
  #registry: HostedRegistry | undefined;

  constructor(options: RegistryLineOptions) {
    this.#options = options;
  }

  attach(registry: HostedRegistry): void {
    this.#registry = registry;
  }

  /** Has the leader of the registry change it. Rejects where it may have done so, or not. */
  async change(address: string, { reducer, args, after }: RegistryChange): Promise<RegistryAnswer> {
    const json = { reducer, args: Buffer.from(args).toString('base64'), after };
    const body = Buffer.from(JSON.stringify(json), 'utf8');
    const millisMax = limits.registryChangeMillisMax;
    try {
      return answerIn(await this.#options.ask(address, 'registry', { body, millisMax }));
    } catch (error) {
      if (error instanceof UnsentError) return { kind: 'notLeader' };
      throw error;
    }
  }

  /** Resolves when the other hosts have a change, those that answer at all. */
  async untilCopied(offset: number): Promise<void> {
    const { ask, others } = this.#options;
    const millisMax = limits.registryEverywhereMillisMax;
    const asked = others().map((address) => ask(address, `registry/${offset}`, { millisMax }));
    await Promise.allSettled(asked);
  }

  /** What this host answers; `undefined`: that is not about the registry. */
  answer(path: string, body: Uint8Array): Promise<unknown> | undefined {
    const registry = this.#registry;
    if (registry === undefined) return undefined;
    const [, offset] = /^registry\/(\d{1,15})$/.exec(path) ?? [];
    if (offset !== undefined) return this.#until(registry, Number(offset));
    return path === 'registry' ? this.#change(registry, body) : undefined;
  }

  async #change(registry: HostedRegistry, body: Uint8Array): Promise<RegistryAnswer> {
    return registry.changeRegistry(changeIn(body));
  }

  async #until(registry: HostedRegistry, offset: number): Promise<unknown> {
    return { has: await registry.untilRegistry(offset, limits.registryEverywhereMillisMax) };
  }
}

/** Throws for a change that no host asks for. */
function changeIn(body: Uint8Array): RegistryChange {
  const text = Buffer.from(body).toString('utf8');
  const { reducer, args, after } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const isChange = typeof reducer === 'string' && typeof args === 'string';
  if (!isChange || !Number.isSafeInteger(after)) throw new Error('this is no change');
  return { reducer, args: new Uint8Array(Buffer.from(args, 'base64')), after: Number(after) };
}

function answerIn(answer: unknown): RegistryAnswer {
  const { kind, offset, body } = answer as Readonly<Record<string, unknown>>;
  if (kind === 'notLeader') return { kind };
  if (kind === 'refused') {
    const { code, message } = body as Readonly<Record<string, unknown>>;
    const known = refusedCodes.find((one) => one === code) ?? 'database.broken';
    return { kind, body: { code: known, message: String(message) } };
  }
  const isKnown = (kind === 'done' || kind === 'stale') && Number.isSafeInteger(offset);
  if (!isKnown) throw new Error('another version answered what is not known here');
  return { kind, offset: Number(offset) };
}

/** Why a registry is not changed. */
const refusedCodes = [
  'database.full',
  'database.lost',
  'database.noEngine',
  'database.opening',
  'database.overloaded',
  'database.stopped',
] as const satisfies readonly RefusedBody['code'][];

type RefusedBody = Extract<RegistryAnswer, { readonly kind: 'refused' }>['body'];
