/**
 * The terms of one request, checked by the rules of its era.
 *
 * A request is modern if it says so: in `params._meta`, in its version header, or by a method that
 * only exists in the modern era. All others are legacy, including those without any header.
 */
import { JsonObject, type JsonValue } from '../values/json.ts';
import { capabilitiesIn, sessionHeader } from './client-capabilities.ts';
import type { RequestMessage } from './json-rpc.ts';
import { readMeta } from './meta.ts';
import { type LogLevel, logLevels } from './request-context.ts';
import { checkHeaders, type HeaderOf, versionHeader } from './request-headers.ts';
import { invalidParams, RpcError, rpcCode } from './rpc-error.ts';
import {
  type Era,
  legacyVersions,
  modernMethods,
  modernVersions,
  protocolVersions,
  structuredVersions,
} from './versions.ts';

/** The terms on which a request is served. */
export interface Terms {
  readonly era: Era;
  /** What the client can be asked for; a legacy client has it in its session id. */
  readonly clientCapabilities: JsonObject | undefined;
  /** Requested log messages: this level and above. Modern only. */
  readonly logLevel: LogLevel | undefined;
  /** Whether the client's revision has structured results, as far as it says which it speaks. */
  readonly readsStructured: boolean;
}

export function eraOf({ method, params }: RequestMessage, header: HeaderOf): Era {
  const isModern =
    readMeta(params, 'protocolVersion') !== undefined ||
    isOneOf(modernVersions, header(versionHeader)?.trim()) ||
    modernMethods.includes(method);
  return isModern ? 'modern' : 'legacy';
}

/** Throws `RpcError` if the request breaks a rule of its era. */
export function readTerms(message: RequestMessage, header: HeaderOf, era: Era): Terms {
  return era === 'modern' ? modernTerms(message, header) : legacyTerms(message, header);
}

function legacyTerms({ method }: RequestMessage, header: HeaderOf): Terms {
  const given = header(versionHeader)?.trim();
  // The handshake negotiates the version; only later requests are bound to it.
  const version = method === 'initialize' ? undefined : given;
  if (version !== undefined && !isOneOf(legacyVersions, version)) {
    const known = protocolVersions.join(', ');
    const words = `unsupported protocol version: ${version}; there are ${known}`;
    throw new RpcError(rpcCode.invalidRequest, words, undefined, 400);
  }
  const clientCapabilities = capabilitiesIn(header(sessionHeader));
  const readsStructured = version !== undefined && isOneOf(structuredVersions, version);
  return { era: 'legacy', clientCapabilities, logLevel: undefined, readsStructured };
}

function modernTerms(message: RequestMessage, header: HeaderOf): Terms {
  const { params } = message;
  const version = readMeta(params, 'protocolVersion');
  if (typeof version !== 'string') throw badMeta('protocolVersion must be a string');
  const clientCapabilities = readMeta(params, 'clientCapabilities');
  if (!(clientCapabilities instanceof JsonObject)) {
    throw badMeta('clientCapabilities must be an object');
  }
  checkHeaders(message, header);
  if (!isOneOf(modernVersions, version)) {
    const data = { supported: modernVersions, requested: version };
    const words = `unsupported protocol version: ${version}`;
    throw new RpcError(rpcCode.unsupportedVersion, words, data);
  }
  const logLevel = readLogLevel(readMeta(params, 'logLevel'));
  return { era: 'modern', clientCapabilities, logLevel, readsStructured: true };
}

function readLogLevel(level: JsonValue | undefined): LogLevel | undefined {
  if (level === undefined) return undefined;
  if (isOneOf(logLevels, level)) return level;
  throw invalidParams(`logLevel must be one of ${logLevels.join(', ')}`);
}

function badMeta(what: string): RpcError {
  const words = `invalid params: _meta io.modelcontextprotocol/${what}`;
  return new RpcError(rpcCode.invalidParams, words, undefined, 400);
}

function isOneOf<Word extends string>(words: readonly Word[], given: unknown): given is Word {
  return (words as readonly unknown[]).includes(given);
}
