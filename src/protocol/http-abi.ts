/**
 * Heads of HTTP requests and responses as they cross between a program and its host, for requests
 * that a procedure sends as well as for those that a handler answers. Bodies travel beside them as
 * raw bytes.
 */
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import type { BinaryWriter } from '../values/binary-writer.ts';
import {
  encodedBy,
  readList,
  readOption,
  unknownTagOf,
  writeList,
  writeOption,
} from './message-parts.ts';

/** In the order of their tags. */
const versions = ['HTTP/0.9', 'HTTP/1.0', 'HTTP/1.1', 'HTTP/2', 'HTTP/3'] as const;

/** In the order of their tags; any other method is `Extension`, tag 9, with its name. */
const methods: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
];

const extensionTag = methods.length;

export type HttpVersion = (typeof versions)[number];

export interface HttpHeader {
  readonly name: string;
  readonly value: Uint8Array;
}

export interface HttpRequest {
  /** As it is on the wire, `GET` for instance. */
  readonly method: string;
  /** In order; a name may repeat. */
  readonly headers: readonly HttpHeader[];
  /** Microseconds; none = the default of the host. */
  readonly timeoutMicros: bigint | undefined;
  readonly uri: string;
  readonly version: HttpVersion;
}

export interface HttpResponse {
  /** In order; a name may repeat. */
  readonly headers: readonly HttpHeader[];
  readonly version: HttpVersion;
  readonly code: number;
}

export function encodeHttpRequest(request: HttpRequest): Uint8Array {
  return encodedBy((writer) => {
    writeMethod(writer, request.method);
    writeHeaders(writer, request.headers);
    writeOption(writer, request.timeoutMicros, (to, micros) => to.i64(micros));
    writer.string(request.uri);
    writeVersion(writer, request.version);
  });
}

/** Throws `DecodeError`. */
export function decodeHttpRequest(bytes: Uint8Array): HttpRequest {
  return decodedBy(bytes, (reader) => ({
    method: readMethod(reader),
    headers: readHeaders(reader),
    timeoutMicros: readOption(reader, (from) => from.i64()),
    uri: reader.string(),
    version: readVersion(reader),
  }));
}

export function encodeHttpResponse(response: HttpResponse): Uint8Array {
  return encodedBy((writer) => {
    writeHeaders(writer, response.headers);
    writeVersion(writer, response.version);
    writer.u16(response.code);
  });
}

/** Throws `DecodeError`. */
export function decodeHttpResponse(bytes: Uint8Array): HttpResponse {
  return decodedBy(bytes, (reader) => ({
    headers: readHeaders(reader),
    version: readVersion(reader),
    code: reader.u16(),
  }));
}

/** Parameters of the path of a request, as its handler gets them. */
export type PathParameters = readonly (readonly [name: string, value: string])[];

export function encodePathParameters(params: PathParameters): Uint8Array {
  return encodedBy((writer) => {
    writeList(writer, params, (to, [name, value]) => {
      to.string(name);
      to.string(value);
    });
  });
}

/** Throws `DecodeError`. */
export function decodePathParameters(bytes: Uint8Array): PathParameters {
  return decodedBy(bytes, (reader) =>
    readList(reader, pairBytesMin, (from) => [from.string(), from.string()] as const),
  );
}

function writeMethod(writer: BinaryWriter, method: string): void {
  const tag = methods.indexOf(method);
  writer.u8(tag === -1 ? extensionTag : tag);
  if (tag === -1) writer.string(method);
}

function readMethod(reader: BinaryReader): string {
  const tag = reader.u8();
  if (tag === extensionTag) return reader.string();
  const method = methods[tag];
  if (method === undefined) throw unknownTagOf('HttpMethod', tag);
  return method;
}

function writeVersion(writer: BinaryWriter, version: HttpVersion): void {
  writer.u8(versions.indexOf(version));
}

function readVersion(reader: BinaryReader): HttpVersion {
  const tag = reader.u8();
  const version = versions[tag];
  if (version === undefined) throw unknownTagOf('HttpVersion', tag);
  return version;
}

function writeHeaders(writer: BinaryWriter, headers: readonly HttpHeader[]): void {
  writeList(writer, headers, (to, { name, value }) => {
    to.string(name);
    to.bytes(value);
  });
}

function readHeaders(reader: BinaryReader): HttpHeader[] {
  return readList(reader, pairBytesMin, (from) => ({ name: from.string(), value: from.bytes() }));
}

/** Two empty texts, each a count. */
const pairBytesMin = 8;

function decodedBy<Value>(bytes: Uint8Array, read: (reader: BinaryReader) => Value): Value {
  const reader = new BinaryReader(bytes);
  const value = read(reader);
  if (reader.remaining > 0) throw new DecodeError(`${reader.remaining} bytes follow the value`);
  return value;
}
