import type { InputRequired } from '../mcp-protocol/input-required.ts';
import type { RequestContext } from '../mcp-protocol/request-context.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import { JsonNumber, type JsonObject } from '../values/json.ts';
import type { McpSession } from './session.ts';

/** The context of a tool call. */
export type ToolContext = RequestContext<McpSession>;

/** One of our tools; `tool-list.ts` derives the form that the client of a session sees. */
export interface ToolSource {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Replaces the description in read-only sessions. */
  readonly readOnlyDescription?: string;
  /** JSON schemas of the tool's own arguments, in the order in which a client sees them. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  /** Additional arguments: listed only in sessions with features, but accepted in all. */
  readonly moreProperties?: Readonly<Record<string, JsonSchema>>;
  /** Names of arguments that are accepted and never listed: few need them. */
  readonly unlisted?: readonly string[];
  readonly required: readonly string[];
  /** The complete schema of the arguments, if it is not that of an object of `properties`. */
  readonly inputSchema?: JsonSchema;
  /** Schema of the structured result. */
  readonly outputSchema: JsonSchema;
  /** Whether the tool works on one database; with `optional` it can also work without. */
  readonly takesDatabase: boolean | 'optional';
  readonly effect: ToolEffect;
  /**
   * Throws `RpcError` for arguments of the wrong shape, and `ToolFailure` for a fault that the
   * caller can correct after reading the text.
   */
  run(args: JsonObject, context: ToolContext): Promise<ToolAnswer | InputRequired>;
}

/**
 * `reads`: changes nothing. `mayWrite`: depends on the arguments, and changes nothing in a
 * read-only session. `writes`: exists to change things, and is absent from a read-only session.
 */
export type ToolEffect = 'reads' | 'mayWrite' | 'writes';

export interface ToolAnswer {
  readonly texts: readonly string[];
  /** JSON of an object that fits the tool's output schema; see `structuredJson`. */
  readonly structured: string;
  /** Members of `_meta`. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
}

/** A failed run; its text becomes the tool result, marked as an error. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  /** A second text with a suggestion. */
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** Returns a schema of objects with all of these members, and optionally those of `optional`. */
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

/** An integer in a structured result; as a string if a JavaScript number cannot hold it. */
export const integerSchema = { type: ['integer', 'string'] } as const;

/**
 * Any JSON, as the item of a list argument. Some vendors' agents reject all tools if one has a list
 * without an item schema, others if that schema has no type.
 */
export const anyItemSchema = {
  type: ['string', 'number', 'boolean', 'object', 'array', 'null'],
  items: {},
} as const;

/** A list of names or lines. */
export const stringsSchema = { type: 'array', items: { type: 'string' } } as const;

export function stringArgument(args: JsonObject, name: string): string {
  const value = args.get(name);
  if (typeof value === 'string') return value;
  throw invalidParams(`${name} argument must be a string`);
}

/** Returns `undefined` for absent and null. */
export function optionalStringArgument(args: JsonObject, name: string): string | undefined {
  return (args.get(name) ?? undefined) === undefined ? undefined : stringArgument(args, name);
}

/** Returns false for absent and null. */
export function flagArgument(args: JsonObject, name: string): boolean {
  const value = args.get(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw invalidParams(`${name} argument must be true or false`);
}

/** Reads an optional integer. Throws `ToolFailure` if it is not an integer, or out of range. */
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
