import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Place } from './place.ts';

interface Result {
  readonly columns: readonly { readonly name: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** The tools of the database's MCP server, with the rights of a token. */
export class Desk {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect({ url, database }: Place, token: string): Promise<Desk> {
    const client = new Client({ name: '{{name}}-agent', version: '1.0.0' });
    const address = new URL(`/v1/database/${database}/mcp`, url);
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
    return new Desk(client);
  }

  /** The rows of a SELECT, with a property for each column. */
  async rows<R>(sql: string): Promise<R[]> {
    const { results } = await this.#tool('sql', { sql });
    const [result] = results as Result[];
    if (result === undefined) return [];
    const { columns, rows } = result;
    return rows.map((row) => {
      return Object.fromEntries(columns.map(({ name }, at) => [name, row[at]])) as R;
    });
  }

  async call(reducer: string, args: readonly unknown[]): Promise<void> {
    await this.#tool('call', { reducer, args });
  }

  /** Waits until the rows of a SELECT change, from the moment `since` on; gives the new moment. */
  async change(sql: string, since: string | undefined, seconds: number): Promise<string> {
    const waited = await this.#tool('wait_for_change', { sql, since, timeout: seconds });
    return waited.since as string;
  }

  async #tool(name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
    const result = await this.#client.callTool({ name, arguments: { ...args } });
    const texts = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    if (result.isError === true) throw new Error(`${name}: ${texts.join('\n')}`);
    return (result.structuredContent ?? {}) as Readonly<Record<string, unknown>>;
  }
}
