import type { JsonObject } from '../values/json.ts';
import type { InputRequired } from './input-required.ts';
import type { RequestContext } from './request-context.ts';

/** One tool: its form for clients, and its function. */
export interface Tool<Session> {
  /** 1 to 64 characters of `A-Z a-z 0-9 _ - .` */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** A JSON schema (2020-12) of an object. */
  readonly inputSchema: JsonSchema;
  /** Schema of `structured`; every result except an error fits it. */
  readonly outputSchema?: JsonSchema;
  readonly annotations: ToolAnnotations;
  /**
   * Throws `RpcError` for arguments of the wrong shape; a fault that the caller can correct is a
   * result with `isError`.
   */
  run(args: JsonObject, context: RequestContext<Session>): Promise<ToolResult | InputRequired>;
}

export type JsonSchema = { readonly [keyword: string]: unknown };

export interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly openWorldHint: boolean;
}

export interface ToolResult {
  readonly content: readonly Content[];
  /** JSON text of an object, sent unchanged: wide numbers in it are written as strings. */
  readonly structured?: string;
  /** What the server says of the result beside it. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
  readonly isError: boolean;
}

/** A part of a result or of a prompt's message. Binary data is base64. */
export type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: ResourceText | ResourceBlob }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly description?: string;
      readonly mimeType?: string;
    };

export interface ResourceText {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

export interface ResourceBlob {
  readonly uri: string;
  readonly mimeType: string;
  readonly blob: string;
}

export function text(words: string): Content {
  return { type: 'text', text: words };
}
