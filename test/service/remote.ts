import type { Answer, Person } from './running.ts';
import type { Program } from './written-module.ts';

/** A caller of a service in another process, with a token of its own that outlives the process. */
export class Remote {
  readonly #url: string;
  readonly #person: Person;

  private constructor(url: string, person: Person) {
    this.#url = url;
    this.#person = person;
  }

  static async of(url: string): Promise<Remote> {
    const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
    return new Remote(url, (await answer.json()) as Person);
  }

  /** The same caller, at another host. */
  at(url: string): Remote {
    return new Remote(url, this.#person);
  }

  /** For a command line that is to act as the same caller. */
  get token(): string {
    return this.#person.token;
  }

  /** In hexadecimal digits. */
  get identity(): string {
    return this.#person.identity;
  }

  async ask(method: string, where: string, body?: string | Program): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${this.#person.token}`,
      'content-type': 'application/json',
    };
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = body;
    const answer = await fetch(`${this.#url}${where}`, init);
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  }

  /** `query` begins with `&`. */
  upload(database: string, program: Program, query = ''): Promise<Answer> {
    return this.ask('PUT', `/v1/database/${database}?host_type=Js${query}`, program);
  }

  call(database: string, reducer: string, args: readonly unknown[]): Promise<Answer> {
    return this.ask('POST', `/v1/database/${database}/call/${reducer}`, JSON.stringify(args));
  }

  /** What the reducer `which` of a written module says. */
  async which(database: string): Promise<string> {
    return (await this.call(database, 'which', [])).text;
  }

  async rows(database: string, statement: string): Promise<unknown[][]> {
    const { status, text } = await this.ask('POST', `/v1/database/${database}/sql`, statement);
    if (status !== 200) throw new Error(`${statement}: ${status} ${text}`);
    return JSON.parse(text)[0].rows;
  }
}
