import { utf8Length } from '../../src/values/utf8.ts';
import type { Person, Running } from '../service/running.ts';

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

export interface Place {
  /** Path of the MCP server, with features if there are any. */
  readonly path: string;
  readonly as: Person;
}

const bytesPerToken = 4;

/** An agent that speaks plain JSON-RPC, and counts what it sends and reads. */
export class AgentSession {
  readonly #running: Running;
  readonly #place: Place;
  #calls = 0;
  #errors = 0;
  #bytes = 0;
  #answerBytesMax = 0;

  constructor(running: Running, place: Place) {
    this.#running = running;
    this.#place = place;
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
    const { text } = await this.#running.ask('POST', this.#place.path, {
      as: this.#place.as,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      headers: { 'content-type': 'application/json' },
    });
    const { result, error } = JSON.parse(text);
    if (error !== undefined) {
      const hints = error.data?.hint === undefined ? [] : [error.data.hint];
      return { texts: [error.message, ...hints], isError: true };
    }
    const texts = result.content.map((one: { text: string }) => one.text);
    return { texts, isError: result.isError };
  }
}
