import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** How the bridge to the service is started, such as `npx reducerdb mcp --features preview`. */
export interface BridgeCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** What a tool answers: texts for a model, and the same as data for programs. */
export interface ToolAnswer {
  readonly texts: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** The MCP server of a service, over the standard input and output of the bridge. */
export class Server {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Starts the bridge and finds out which revision of the protocol it speaks. `agree` is asked what
   * the server wants a person to decide.
   */
  static async connect(
    bridge: BridgeCommand,
    agree: (question: string) => boolean,
  ): Promise<Server> {
    const client = new Client(
      { name: 'scripted-agent', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
    );
    client.setRequestHandler('elicitation/create', ({ params }) =>
      agree(params.message)
        ? { action: 'accept', content: { confirm: true } }
        : { action: 'decline' },
    );
    const { command, args } = bridge;
    const transport = new StdioClientTransport({ command, args: [...args], stderr: 'pipe' });
    let notices = '';
    transport.stderr?.on('data', (chunk) => {
      notices += chunk;
    });
    await client.connect(transport).catch((cause) => {
      throw new Error(`the bridge does not serve:\n${notices}`, { cause });
    });
    return new Server(client);
  }

  /** Name, version, and revision of the protocol. */
  describe(): string {
    const { name, version } = this.#client.getServerVersion() ?? { name: '?', version: '?' };
    return `${name} ${version}, protocol ${this.#client.getNegotiatedProtocolVersion()}`;
  }

  async toolNames(): Promise<string[]> {
    const { tools } = await this.#client.listTools();
    return tools.map(({ name }) => name);
  }

  /** Calls a tool; what it refuses is an error with its text. */
  async call(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const result = await this.#client.callTool({ name, arguments: args });
    const texts = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    if (result.isError === true) throw new Error(`${name}: ${texts.join('\n')}`);
    return { texts, data: (result.structuredContent ?? {}) as ToolAnswer['data'] };
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
