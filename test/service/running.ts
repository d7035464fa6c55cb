import { createPrivateKey, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { type Service, startServiceWith } from '../../src/service/start-service.ts';
import { sharedLinker } from '../support/shared-linker.ts';
import { program } from './built-program.ts';
import type { Program } from './written-module.ts';

export { program };

/** A caller with a token of its own. */
export interface Person {
  readonly identity: string;
  readonly token: string;
}

/** Who uses a limited token; `id` is that of the token. */
export interface Agent extends Person {
  readonly id: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface Ask {
  readonly as?: Person | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
}

/** A service in the test's process, on a real port with real files; callers use real sockets. */
export class Running {
  readonly service: Service;
  readonly folder: string;

  private constructor(service: Service, folder: string) {
    this.service = service;
    this.folder = folder;
  }

  static async start(given: GivenConfiguration = {}): Promise<Running> {
    const folder = given.dataDirectory ?? mkdtempSync(path.join(tmpdir(), 'reducerdb-running-'));
    const listen = { host: '127.0.0.1', port: 0 };
    const service = await startServiceWith(
      { listen, logLevel: 'silent', ...given, dataDirectory: folder },
      { makeLinker: sharedLinker },
    );
    return new Running(service, folder);
  }

  /** Ends the service and keeps its folder, for another one to start from. */
  pause(): Promise<void> {
    return this.service.stop();
  }

  async stop(): Promise<void> {
    await this.pause();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The key that signs the tokens of this service. */
  privateKey(): KeyObject {
    return createPrivateKey(readFileSync(path.join(this.folder, 'keys/id_ecdsa')));
  }

  async ask(method: string, where: string, { as, body, headers = {} }: Ask = {}): Promise<Answer> {
    const all: Record<string, string> = { ...headers };
    if (as !== undefined) all.authorization = `Bearer ${as.token}`;
    const init: RequestInit = { method, headers: all };
    if (body !== undefined) init.body = body;
    const answer = await fetch(`${this.service.url}${where}`, init);
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  }

  async person(): Promise<Person> {
    return JSON.parse((await this.ask('POST', '/v1/identity')).text);
  }

  /** Calls a reducer with JSON arguments. */
  call(database: string, reducer: string, args: unknown, as?: Person): Promise<Answer> {
    const body = typeof args === 'string' ? args : JSON.stringify(args);
    const where = `/v1/database/${database}/call/${reducer}`;
    return this.ask('POST', where, { as, body, headers: ofJson });
  }

  sql(database: string, statement: string, as?: Person): Promise<Answer> {
    return this.ask('POST', `/v1/database/${database}/sql`, { as, body: statement });
  }

  /** Rows of a statement that must succeed, positional. */
  async rows(database: string, statement: string, as?: Person): Promise<unknown[][]> {
    const { status, text } = await this.sql(database, statement, as);
    if (status !== 200) throw new Error(`${statement}: ${status} ${text}`);
    return JSON.parse(text)[0].rows;
  }

  /** Gives somebody a role in a database. */
  grant(database: string, role: string, to: Person, as: Person): Promise<Answer> {
    const where = `/v1/database/${database}/grants/${to.identity}`;
    return this.ask('PUT', where, { as, body: JSON.stringify({ role }), headers: ofJson });
  }

  revoke(database: string, from: Person, as: Person): Promise<Answer> {
    return this.ask('DELETE', `/v1/database/${database}/grants/${from.identity}`, { as });
  }

  /** Asks for a limited token. */
  limited(database: string, limits: unknown, as: Person): Promise<Answer> {
    const body = JSON.stringify(limits);
    return this.ask('POST', `/v1/database/${database}/tokens`, { as, body, headers: ofJson });
  }

  /** The bearer of a limited token. */
  async agent(database: string, limits: object, as: Person): Promise<Agent> {
    const { status, text } = await this.limited(database, limits, as);
    if (status !== 200) throw new Error(text);
    return JSON.parse(text);
  }

  /** The text of what a tool of one database answers, or of the error of its message. */
  async tool(database: string, name: string, args: object, as?: Person): Promise<string> {
    return this.toolAt(`/v1/database/${database}/mcp`, name, args, as);
  }

  async toolAt(where: string, name: string, args: object, as?: Person): Promise<string> {
    const call = { method: 'tools/call', params: { name, arguments: args } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
    const { status, text } = await this.ask('POST', where, { as, body, headers: ofJson });
    if (status !== 200) return `${status} ${text}`;
    const { result, error } = JSON.parse(text);
    return result === undefined ? error.message : result.content[0].text;
  }

  /** Uploads a program; `query` begins with `&`. */
  upload(name: string, body: Program, as: Person | undefined, query = ''): Promise<Answer> {
    return this.ask('PUT', `/v1/database/${name}?host_type=Js${query}`, { as, body });
  }

  /** What an upload would do; `query` begins with `&`. */
  plan(name: string, body: Program, as: Person, query = '&style=NoColor'): Promise<Answer> {
    return this.ask('POST', `/v1/database/${name}/pre_publish?host_type=Js${query}`, { as, body });
  }

  /** Messages of the module's log, each after its level. */
  async messages(name: string, as: Person): Promise<string[]> {
    const { text } = await this.ask('GET', `/v1/database/${name}/logs`, { as });
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const { level, message } = JSON.parse(line);
      return `${level}: ${message}`;
    });
  }

  async publish(name: string, module: string, as: Person): Promise<Answer> {
    const body = await program(module);
    return this.ask('PUT', `/v1/database/${name}?host_type=Js`, { as, body });
  }
}

const ofJson = { 'content-type': 'application/json' };
