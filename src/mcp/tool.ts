import type { InputRequired } from '../mcp-protocol/input-required.ts';
import type { RequestContext } from '../mcp-protocol/request-context.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import { JsonNumber, type JsonObject } from '../values/json.ts';
import type { McpSession } from './session.ts';

/** What a tool call runs with. */
export type ToolContext = RequestContext<McpSession>;

/** One of our tools; `tool-list.ts` makes of it what the client of a session sees. */
export interface ToolSource {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Instead of it, where nothing can be changed. */
  readonly readOnlyDescription?: string;
  /** JSON schemas of the tool's own arguments, in the order in which a client sees them. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  /** Further ones, of which only sessions with a feature are told: all may use them. */
  readonly moreProperties?: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** The whole schema of the arguments, where it is not that of an object of `properties`. */
  readonly inputSchema?: JsonSchema;
  /** Of the structured result. */
  readonly outputSchema: JsonSchema;
  /** True for a tool that works on one database; `optional`: on one, or on none. */
  readonly takesDatabase: boolean | 'optional';
  readonly effect: ToolEffect;
  /**
   * Throws `RpcError` for arguments of the wrong shape and `ToolFailure` for what the caller can
   * mend after reading the text.
   */
  run(args: JsonObject, context: ToolContext): Promise<ToolAnswer | InputRequired>;
}

/**
 * `reads`: changes nothing. `mayWrite`: what it is given decides, and in a session that is
 * read-only it changes nothing. `writes`: it is for changing things, and not there in such a one.
 */
export type ToolEffect = 'reads' | 'mayWrite' | 'writes';

export interface ToolAnswer {
  readonly texts: readonly string[];
  /** JSON of an object that fits the tool's output schema; see `structuredJson`. */
  readonly structured: string;
}

/** A failed run; its text goes into the tool result, marked as an error. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  /** A second text behind the first, in sessions with features: what to try instead. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** A schema of objects that have all of these members, and maybe those of `optional`. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
  };
}

/** An integer in a structured result: one that a number cannot hold is a string. */
export const integerSchema = { type: ['integer', 'string'] } as const;

/**
 * Any JSON, as the item of a list among arguments. Agents of some makers refuse all tools when one
 * has a list without a schema of its items, those of others when that schema has no type.
 */
export const anyItemSchema = {
  type: ['string', 'number', 'boolean', 'object', 'array', 'null'],
  items: {},
} as const;

/** A list of names, or of lines. */
export const stringsSchema = { type: 'array', items: { type: 'string' } } as const;

/** The database that a data tool works on, as the client or the path names it. */
export function databaseArgument(args: JsonObject, context: ToolContext): string {
  const { database } = context.session;
  if (database !== undefined) return database;
  return stringArgument(args, 'database');
}

export function stringArgument(args: JsonObject, name: string): string {
  const value = args.get(name);
  if (typeof value === 'string') return value;
  throw invalidParams(`${name} argument must be a string`);
}

/** Absent and null are `undefined`. */
export function optionalStringArgument(args: JsonObject, name: string): string | undefined {
  return (args.get(name) ?? undefined) === undefined ? undefined : stringArgument(args, name);
}

/** The same for a whole number. Throws `ToolFailure` for one that is none, or out of range. */
export function optionalIntegerArgument(
  args: JsonObject,
  name: string,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
): number | undefined {
  const given = args.get(name);
  if (given === undefined || given === null) return undefined;
  const value = given instanceof JsonNumber ? Number(given.text) : Number.NaN;
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
  throw new ToolFailure(`${name} must be a whole number from ${minimum} to ${maximum}`);
}
