/**
 * Headers that repeat parts of a modern message, so that proxies can route it without reading the
 * body. The client derives them; the server checks them.
 *
 * ```
 * MCP-Protocol-Version   params._meta["io.modelcontextprotocol/protocolVersion"]
 * Mcp-Method             method
 * Mcp-Name               params.name or params.uri, for the three methods that name something
 * Mcp-Param-<X>          the argument whose schema says "x-mcp-header": "<X>"
 * ```
 */
import { JsonNumber, type JsonValue, member } from '../values/json.ts';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts';
import { readMeta } from './meta.ts';
import { RpcError, rpcCode } from './rpc-error.ts';
import type { JsonSchema } from './tool.ts';

export const versionHeader = 'mcp-protocol-version';
const methodHeader = 'mcp-method';
const nameHeader = 'mcp-name';
const parameterPrefix = 'mcp-param-';

export interface NamedMessage {
  readonly method: string;
  readonly params: JsonValue | undefined;
}

/** Returns the first value of a header, by its lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/** Returns the headers of a modern message, as written by a client. */
export function expectedHeaders(message: NamedMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of repeatedParts(message)) headers[name] = encodeHeaderValue(value);
  return headers;
}

/** Throws -32020 if a header is missing or differs from the part of the message that it repeats. */
export function checkHeaders(message: NamedMessage, header: HeaderOf): void {
  for (const [name, value] of repeatedParts(message)) {
    if (readHeader(header, name) !== value) throw mismatch(name);
  }
}

/** Checks the headers that a tool's schema requires for its arguments. */
export function checkParameterHeaders(schema: JsonSchema, args: JsonValue, header: HeaderOf): void {
  for (const { name, value } of repeatedArguments(schema, args)) {
    if (!isRepeated(value, readHeader(header, name))) throw mismatch(name);
  }
}

function repeatedParts({ method, params }: NamedMessage): [name: string, value: string][] {
  const parts: [string, JsonValue | undefined][] = [
    [versionHeader, readMeta(params, 'protocolVersion')],
    [methodHeader, method],
    [nameHeader, nameOf(method, params)],
  ];
  return parts.filter((part): part is [string, string] => typeof part[1] === 'string');
}

function nameOf(method: string, params: JsonValue | undefined): JsonValue | undefined {
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      return member(params, 'name');
    case 'resources/read':
      return member(params, 'uri');
    default:
      return undefined;
  }
}

function readHeader(header: HeaderOf, name: string): string | undefined {
  const written = header(name);
  return written === undefined ? undefined : decodeHeaderValue(written, name);
}

interface RepeatedArgument {
  /** Header name, in lower case. */
  readonly name: string;
  readonly value: JsonValue | undefined;
}

/** Returns the arguments whose schema requires a header, at any depth of objects. */
function repeatedArguments(schema: JsonSchema, args: JsonValue | undefined): RepeatedArgument[] {
  const { properties } = schema;
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties as Record<string, JsonSchema>).flatMap(([key, inner]) => {
    const value = member(args, key);
    const header = inner['x-mcp-header'];
    const own =
      typeof header === 'string' ? [{ name: parameterPrefix + header.toLowerCase(), value }] : [];
    return [...own, ...repeatedArguments(inner, value)];
  });
}

function isRepeated(value: JsonValue | undefined, header: string | undefined): boolean {
  if (value === undefined || value === null) return header === undefined;
  if (header === undefined) return false;
  if (value instanceof JsonNumber) return isSameNumber(value.text, header);
  return String(value) === header;
}

/** Compares integers of any size by value: `042` equals `42`. */
function isSameNumber(left: string, right: string): boolean {
  if (left === right) return true;
  const areIntegers = [left, right].every((text) => /^-?\d+$/.test(text));
  if (areIntegers) return BigInt(left) === BigInt(right);
  return /^-?[\d.eE+-]+$/.test(right) && Number(left) === Number(right);
}

function mismatch(name: string): RpcError {
  return new RpcError(
    rpcCode.headerMismatch,
    `header mismatch: \`${name}\` is missing or differs from the message`,
  );
}
