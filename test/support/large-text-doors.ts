import path from 'node:path';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { packClientMessages } from '../../src/protocol/v3.ts';
import { Sandbox } from '../service/harness.ts';
import { SocketClient } from '../service/socket-client.ts';
import { writtenFrom } from '../service/written-module.ts';
import { type GatewayDelay, MachineDelay, MeasuredService } from './gateway-delay.ts';

/** Every door that takes large texts of clients, of a service whose gateway is watched. */
export class LargeTextDoors {
  readonly #sandbox: Sandbox;
  readonly #service: MeasuredService;
  readonly #machine = new MachineDelay();
  #token: string | undefined;
  #notes = 0;

  private constructor(sandbox: Sandbox, service: MeasuredService) {
    this.#sandbox = sandbox;
    this.#service = service;
  }

  static async open(): Promise<LargeTextDoors> {
    const sandbox = await Sandbox.make();
    const flags = ['--data-dir', path.join(sandbox.folder, 'data')];
    const doors = new LargeTextDoors(sandbox, await MeasuredService.start(sandbox, flags));
    const person = await (await doors.#ask('POST', '/v1/identity')).json();
    doors.#token = (person as { token: string }).token;
    const body = await writtenFrom(moduleSource);
    const { status } = await doors.#ask('PUT', '/v1/database/shop?host_type=Js', { body });
    if (status !== 200) throw new Error(`publishing: ${status}`);
    return doors;
  }

  async close(): Promise<void> {
    this.#machine.stop();
    await this.#service.stop();
    this.#sandbox.remove();
  }

  /** Inserts a row with lists of so many elements; those of the first take no bytes. */
  async lengthen(id: number, nothings: number, numbers: number): Promise<void> {
    const where = '/v1/database/shop/call/lengthen';
    const { status } = await this.#ask('POST', where, { body: `[${id},${nothings},${numbers}]` });
    if (status !== 200) throw new Error(`inserting: ${status}`);
  }

  /** Inserts rows with other texts in place of those that are there, in one commit. */
  async note(count: number, characters: number): Promise<void> {
    const where = '/v1/database/shop/call/note_all';
    const { status } = await this.#ask('POST', where, {
      body: `[${++this.#notes},${count},${characters}]`,
    });
    if (status !== 200) throw new Error(`inserting: ${status}`);
  }

  /** Connects clients of version 1 in text, which watch those rows. */
  watchNotes(count: number): Promise<SocketClient[]> {
    const watch = async (): Promise<SocketClient> => {
      const protocols = ['v1.json.spacetimedb'];
      const client = await SocketClient.open(this.#service.url, 'shop', { protocols });
      await client.frame();
      const query_strings = ['SELECT * FROM note'];
      client.send(JSON.stringify({ Subscribe: { query_strings, request_id: 1 } }));
      await client.frame();
      return client;
    };
    return Promise.all(Array.from({ length: count }, watch));
  }

  /** Asks for some of those rows, and returns the length of the answer. */
  async lengthOfRows(where: string): Promise<number> {
    const body = `SELECT * FROM long WHERE ${where}`;
    const answer = await this.#ask('POST', '/v1/database/shop/sql', { body });
    return (await answer.text()).length;
  }

  /** Sends `text` to a door and waits for what comes of it, whatever that is. */
  async send(door: Door, text: string): Promise<void> {
    await Promise.all(doors[door].map((way) => way(this, text)));
  }

  /** How late the gateway was while `work` went on, and how late the machine made another. */
  async delayDuring(
    work: () => Promise<void>,
  ): Promise<{ readonly gateway: GatewayDelay; readonly machine: GatewayDelay }> {
    await this.#service.resetDelay();
    await this.#machine.reset();
    // Both have to be looked at many times, also when the work takes no time.
    const settled = new Promise((resolve) => setTimeout(resolve, 2_000));
    await work();
    await settled;
    return { gateway: await this.#service.gatewayDelay(), machine: await this.#machine.read() };
  }

  async post(where: string, body: string, headers: Record<string, string> = {}): Promise<void> {
    await (await this.#ask('POST', where, { body, headers })).arrayBuffer();
  }

  async put(where: string, body: string): Promise<void> {
    await (await this.#ask('PUT', where, { body })).arrayBuffer();
  }

  /** Sends frames over one connection, and waits for as many answers, or for its end. */
  async frames(protocol: string, frames: readonly (string | Uint8Array)[]): Promise<void> {
    const client = await SocketClient.open(this.#service.url, 'shop', { protocols: [protocol] });
    try {
      await client.frame();
      for (const frame of frames) {
        client.send(frame);
        await client.frame();
      }
    } catch {
      await client.ended;
    }
    client.socket.terminate();
  }

  #ask(method: string, where: string, init: RequestInit = {}): Promise<Response> {
    const authorization = this.#token && { authorization: `Bearer ${this.#token}` };
    const headers = { 'content-type': 'application/json', ...authorization, ...init.headers };
    return fetch(`${this.#service.url}${where}`, { method, ...init, headers });
  }
}

const moduleSource = `
  import { schema, t, table } from 'reducerdb/server';
  const nothing = t.object('Nothing', {});
  const long = table(
    { public: true },
    { id: t.u32().primaryKey(), nothings: t.array(nothing), numbers: t.array(t.u32()) },
  );
  const note = table({ public: true }, { id: t.u32().primaryKey(), text: t.string() });
  const db = schema({ item: table({ public: true }, { id: t.u32() }), long, note });
  export default db;
  export const lengthen = db.reducer(
    { id: t.u32(), nothings: t.u32(), numbers: t.u32() },
    (ctx, { id, nothings, numbers }) => {
      ctx.db.long.insert({
        id,
        nothings: new Array(nothings).fill({}),
        numbers: new Array(numbers).fill(7),
      });
    },
  );
  export const note_all = db.reducer(
    { word: t.u32(), count: t.u32(), characters: t.u32() },
    (ctx, { word, count, characters }) => {
      for (const row of [...ctx.db.note.iter()]) ctx.db.note.id.delete(row.id);
      const text = word + '"quoted" and plain, '.repeat(characters / 20);
      for (let id = 0; id < count; id += 1) ctx.db.note.insert({ id, text });
    },
  );
  export const numbers = db.reducer({ list: t.array(t.u32()) }, () => {});
  export const texts = db.reducer({ list: t.array(t.string()) }, () => {});
  export const text = db.reducer({ text: t.string() }, () => {});
  export const floats = db.reducer({ list: t.array(t.f64()) }, () => {});
  export const lists = db.reducer({ list: t.array(t.array(t.u32())) }, () => {});
  const pair = t.object('Pair', { a: t.u32() });
  export const pairs = db.reducer({ list: t.array(pair) }, () => {});
`;
const reducers = ['numbers', 'texts', 'text', 'floats', 'lists', 'pairs'];

type Way = (doors: LargeTextDoors, text: string) => Promise<void>;

const doors = {
  'HTTP calls': reducers.map((name): Way => {
    return (to, text) => to.post(`/v1/database/shop/call/${name}`, text);
  }),
  'SQL parameters': [
    (to, text) =>
      to.post('/v1/database/shop/sql', `{"sql":"SELECT 1","params":${text}}`, {
        'content-type': 'application/vnd.reducerdb.sql+json',
      }),
  ],
  'a list of names': [(to, text) => to.put('/v1/database/shop/names', text)],
  tokens: [
    (to, text) => to.post('/v1/database/shop/tokens', `{"tables":["item"],"ignored":${text}}`),
  ],
  'an MCP message': [(to, text) => to.post('/v1/mcp', text)],
  'an MCP tool': reducers.slice(0, 2).map((reducer): Way => {
    const call = `{"name":"call","arguments":{"reducer":"${reducer}","args":`;
    const before = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${call}`;
    return (to, text) => to.post('/v1/database/shop/mcp', `${before}${text}}}}`);
  }),
  'calls in text frames': reducers.map((reducer): Way => {
    return (to, args) => {
      const call = { reducer, args, request_id: 1, flags: 0 };
      return to.frames('v1.json.spacetimedb', [JSON.stringify({ CallReducer: call })]);
    };
  }),
  'text frames': [(to, text) => to.frames('v1.json.spacetimedb', [text])],
  'binary frames': [
    (to, text) => to.frames('v2.bsatn.spacetimedb', [call('numbers', text)]),
    (to, text) => to.frames('v2.bsatn.spacetimedb', [Buffer.from(text)]),
    (to, text) => {
      const calls = Array.from({ length: 8 }, () => call('text', text.slice(0, text.length / 8)));
      return to.frames('v3.bsatn.spacetimedb', packClientMessages(calls));
    },
  ],
} satisfies Readonly<Record<string, readonly Way[]>>;

export type Door = keyof typeof doors;
export const doorNames = Object.keys(doors) as Door[];

function call(reducer: string, text: string): Uint8Array {
  const args = Buffer.from(text);
  return encodeClientMessage({ kind: 'callReducer', requestId: 1, reducer, args });
}
