import { utf8Length } from '../../src/values/utf8.ts';

/** A tool call of an agent. */
export interface ToolCall {
  readonly tool: string;
  readonly args: object;
}

/** What an agent reads of an answer. */
export interface ToolReply {
  /** Texts of the result, or the message of an error and its hint. */
  readonly texts: readonly string[];
  readonly isError: boolean;
}

/** What one task has cost. */
export interface Cost {
  readonly calls: number;
  readonly errors: number;
  /** Of arguments and answers, by 4 bytes each. */
  readonly tokens: number;
  /** Of the longest answer. */
  readonly answerTokensMax: number;
}

/** Sends a message to an MCP server and gives the answer, both as JSON. */
export type Send = (message: string) => Promise<string>;

const bytesPerToken = 4;

/** An agent that speaks plain JSON-RPC, and counts what it sends and reads. */
export class AgentSession {
  readonly #ask: Send;
  #calls = 0;
  #errors = 0;
  #bytes = 0;
  #answerBytesMax = 0;

  constructor(ask: Send) {
    this.#ask = ask;
  }

  get cost(): Cost {
    return {
      calls: this.#calls,
      errors: this.#errors,
      tokens: Math.ceil(this.#bytes / bytesPerToken),
      answerTokensMax: Math.ceil(this.#answerBytesMax / bytesPerToken),
    };
  }

  async call(tool: string, args: object = {}): Promise<ToolReply> {
    const reply = await this.#send({ tool, args });
    const answerBytes = reply.texts.reduce((sum, text) => sum + utf8Length(text), 0);
    this.#calls += 1;
    this.#errors += reply.isError ? 1 : 0;
    this.#bytes += answerBytes + utf8Length(JSON.stringify(args));
    this.#answerBytesMax = Math.max(this.#answerBytesMax, answerBytes);
    return reply;
  }

  /** The rows of a statement. Throws if it fails. */
  async rows(sql: string): Promise<unknown[][]> {
    const { texts, isError } = await this.call('sql', { sql });
    if (isError) throw new Error(`${sql}: ${texts.join(' ')}`);
    return JSON.parse(texts[0] ?? '')[0].rows;
  }

  async #send({ tool, args }: ToolCall): Promise<ToolReply> {
    const params = { name: tool, arguments: args };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const { result, error } = JSON.parse(await this.#ask(JSON.stringify(message)));
    if (error !== undefined) {
      const hints = error.data?.hint === undefined ? [] : [error.data.hint];
      return { texts: [error.message, ...hints], isError: true };
    }
    const texts = result.content.map((one: { text: string }) => one.text);
    return { texts, isError: result.isError };
  }
}
