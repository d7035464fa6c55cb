/** Text as a header value: unchanged if that is safe, else `=?base64?…?=` of its UTF-8. */
import { fromBase64, toBase64 } from './base64.ts';
import { RpcError, rpcCode } from './rpc-error.ts';

const marked = /^=\?base64\?(.*)\?=$/;

export function encodeHeaderValue(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !marked.test(value);
  if (isPlain) return value;
  return `=?base64?${toBase64(new TextEncoder().encode(value))}?=`;
}

/** Throws -32020 for a value that is neither plain nor well encoded. `name` is the header's. */
export function decodeHeaderValue(written: string, name: string): string {
  const value = written.trim();
  const [, encoded] = marked.exec(value) ?? [];
  if (encoded !== undefined) return decodeBase64(encoded, name);
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw malformed(name);
  return value;
}

function decodeBase64(encoded: string, name: string): string {
  const bytes = fromBase64(encoded);
  if (bytes === undefined) throw malformed(name);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed(name);
  }
}

function malformed(name: string): RpcError {
  return new RpcError(rpcCode.headerMismatch, `header mismatch: \`${name}\` is malformed`);
}
