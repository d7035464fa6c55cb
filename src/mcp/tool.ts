import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import { RpcError, rpcCode } from '../mcp-protocol/json-rpc.ts';
import type { JsonObject } from '../values/json.ts';

/** What a tool call runs with. */
export interface ToolContext {
  readonly host: Host;
  readonly caller: RequestCaller;
  /** Fixed by the path or the command; `undefined` = host-wide, each call names its database. */
  readonly database: string | undefined;
}

/** One tool: how a client sees it, and what it does. */
export interface Tool {
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
  if (context.database !== undefined) return context.database;
  return stringArgument(args, 'database');
}

export function stringArgument(args: JsonObject, name: string): string {
  const value = args.get(name);
  if (typeof value === 'string') return value;
  throw new RpcError(rpcCode.invalidParams, `${name} argument must be a string`);
}
