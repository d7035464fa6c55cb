import type { RequestContext } from '../mcp-protocol/request-context.ts';
import { RpcError, rpcCode } from '../mcp-protocol/rpc-error.ts';
import type { JsonObject } from '../values/json.ts';
import type { McpSession } from './session.ts';

/** What a tool call runs with. */
export type ToolContext = RequestContext<McpSession>;

/** One of our tools; `tool-list.ts` makes of it what a client sees in a mode. */
export interface ToolSource {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON schemas of the tool's own arguments, in the order in which a client sees them. */
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
  /** True for a tool that works on one database. */
  readonly takesDatabase: boolean;
  readonly isReadOnly: boolean;
  /**
   * Returns the text of the result. Throws `RpcError` for arguments of the wrong shape and
   * `ToolFailure` for what the caller can mend after reading the text.
   */
  run(args: JsonObject, context: ToolContext): Promise<string>;
}

/** A failed run; its text goes into the tool result, marked as an error. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  /** A second text behind the first: what to try instead. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** The database that a data tool works on, as the client or the path names it. */
export function databaseArgument(args: JsonObject, context: ToolContext): string {
  const { database } = context.session;
  if (database !== undefined) return database;
  return stringArgument(args, 'database');
}

export function stringArgument(args: JsonObject, name: string): string {
  const value = args.get(name);
  if (typeof value === 'string') return value;
  throw new RpcError(rpcCode.invalidParams, `${name} argument must be a string`);
}
