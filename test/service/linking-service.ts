import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { buildText } from '../support/build-text.ts';
import { type RunningService, Sandbox } from './harness.ts';

const source = (word: string) => `
  import { schema, table, t } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() });
  const db = schema({ note });
  export default db;
  export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.note.insert({ id: 0, text: '${word} ' + text });
  });`;

export interface GoodPrograms {
  readonly one: Uint8Array;
  readonly two: Uint8Array;
}

/** Two programs that differ; a row that `one` writes begins with its name. */
export async function goodPrograms(): Promise<GoodPrograms> {
  const [one, two] = [await buildText(source('one')), await buildText(source('two'))];
  return { one: one.bytes, two: two.bytes };
}

/** A service in a process of its own, to which good and hard programs are published. */
export class LinkingService {
  readonly sandbox: Sandbox;
  service: RunningService;
  readonly #token: string;
  #round = 0;
  /** Of the neighbour; each leaves a row. */
  #calls = 0;

  private constructor(sandbox: Sandbox, service: RunningService, token: string) {
    this.sandbox = sandbox;
    this.service = service;
    this.#token = token;
  }

  static async start(flags: readonly string[] = []): Promise<LinkingService> {
    const sandbox = await Sandbox.make();
    const data = ['--data-dir', path.join(sandbox.folder, 'data')];
    const service = await sandbox.start([...data, ...flags]);
    const answer = await fetch(`${service.url}/v1/identity`, { method: 'POST' });
    const { token } = (await answer.json()) as { token: string };
    return new LinkingService(sandbox, service, token);
  }

  async end(): Promise<void> {
    await this.service.stop('SIGKILL');
    this.sandbox.remove();
  }

  async publish(name: string, body: Uint8Array | string) {
    const where = `${this.service.url}/v1/database/${name}?host_type=Js`;
    const headers = { authorization: `Bearer ${this.#token}` };
    const answer = await fetch(where, {
      method: 'PUT',
      headers,
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
    return { status: answer.status, text: await answer.text() };
  }

  async call(name: string, text: string): Promise<number> {
    const where = `${this.service.url}/v1/database/${name}/call/write`;
    const body = JSON.stringify([text]);
    const headers = { 'content-type': 'application/json' };
    return (await fetch(where, { method: 'POST', headers, body })).status;
  }

  async texts(name: string): Promise<string[]> {
    const where = `${this.service.url}/v1/database/${name}/sql`;
    const answer = await fetch(where, { method: 'POST', body: 'SELECT text FROM note' });
    const [{ rows }] = (await answer.json()) as [{ rows: string[][] }];
    return rows.flat();
  }

  /** Files of linked programs that are kept. */
  linked(): string[] {
    const databases = path.join(this.sandbox.folder, 'data/databases');
    return readdirSync(databases, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.linked'),
    );
  }

  /** Processes that link for the service. */
  linkers(): number[] {
    const { pid } = this.service.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return children.filter(Boolean).map(Number);
  }

  /** Publishes a bomb; meanwhile a neighbour is called, and afterwards others publish. */
  async withstand(name: string, bomb: string, { one, two }: GoodPrograms): Promise<void> {
    let isOver = false;
    const attack = this.publish('victim', bomb).finally(() => {
      isOver = true;
    });
    do {
      await this.#callNeighbour(name);
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (!isOver);
    const { status, text } = await attack;
    expect([400, 500], `${name}: ${text.slice(0, 200)}`).toContain(status);
    expect(text, name).not.toMatch(/esbuild|database is stopped|undefined/);
    this.#round += 1;
    // One that was never linked before.
    const ending = Buffer.from(`\n// ${this.#round}\n`);
    const good = Buffer.concat([this.#round % 2 === 0 ? one : two, ending]);
    expect((await this.publish('again', good)).status, name).toBe(200);
  }

  /** Publishes a deep program: it ends in words, and no worker with it. */
  async withstandDeep(name: string, program: string): Promise<void> {
    const answer = await this.publish('victim', program);
    expect(answer.status, name).toBe(500);
    expect(answer.text, name).not.toMatch(/thread|worker|process/);
    await this.#callNeighbour(name);
  }

  /** The service never ended, and has every row of the neighbour. */
  async expectWhole(): Promise<void> {
    expect(await this.texts('neighbour')).toHaveLength(this.#calls);
    expect(this.service.child.exitCode).toBe(null);
  }

  async #callNeighbour(text: string): Promise<void> {
    expect(await this.call('neighbour', text), text).toBe(200);
    this.#calls += 1;
  }
}
