import { describe, expect, it } from 'vitest';
import { DecodeError } from '../values/binary-reader.ts';
import {
  decodeHttpRequest,
  decodeHttpResponse,
  decodePathParameters,
  encodeHttpRequest,
  encodeHttpResponse,
  encodePathParameters,
  type HttpRequest,
  type HttpResponse,
} from './http-abi.ts';

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const request: HttpRequest = {
  method: 'GET',
  headers: [
    { name: 'a', value: Uint8Array.of(1, 255) },
    { name: 'a', value: new Uint8Array() },
  ],
  timeoutMicros: 30_000_000n,
  uri: 'http://é/',
  version: 'HTTP/1.1',
};

/** Written by hand from the shapes of the rule. */
const requestHex = [
  '00', // method: Get
  '02000000', // two headers
  '01000000 61 02000000 01ff',
  '01000000 61 00000000',
  '00 80c3c90100000000', // timeout: some, 30,000,000 microseconds
  '0a000000 687474703a2f2fc3a92f', // uri, UTF-8
  '02', // version: Http11
].join('');

const response: HttpResponse = {
  headers: [{ name: 'set-cookie', value: Uint8Array.of(0x78) }],
  version: 'HTTP/2',
  code: 404,
};
const responseHex = '01000000 0a000000 7365742d636f6f6b6965 01000000 78 03 9401';

describe('[abi 9.1] heads of HTTP messages', () => {
  it('have the bytes of a request', () => {
    const bytes = bytesOf(requestHex);
    expect(hexOf(encodeHttpRequest(request))).toBe(hexOf(bytes));
    expect(decodeHttpRequest(bytes)).toEqual(request);
  });

  it('have the bytes of a response', () => {
    const bytes = bytesOf(responseHex);
    expect(hexOf(encodeHttpResponse(response))).toBe(hexOf(bytes));
    expect(decodeHttpResponse(bytes)).toEqual(response);
  });

  it.each([
    ['GET', '00'],
    ['HEAD', '01'],
    ['POST', '02'],
    ['PUT', '03'],
    ['DELETE', '04'],
    ['CONNECT', '05'],
    ['OPTIONS', '06'],
    ['TRACE', '07'],
    ['PATCH', '08'],
    ['QUERY', '09 05000000 5155455259'],
    ['get', '09 03000000 676574'],
  ])('have the method %s as %s', (method, hex) => {
    const bytes = bytesOf(`${hex} 00000000 01 00000000 02`);
    const bare = { ...request, method, headers: [], timeoutMicros: undefined, uri: '' };
    expect(hexOf(encodeHttpRequest(bare))).toBe(hexOf(bytes));
    expect(decodeHttpRequest(bytes)).toEqual(bare);
  });

  it.each([
    ['HTTP/0.9', '00'],
    ['HTTP/1.0', '01'],
    ['HTTP/1.1', '02'],
    ['HTTP/2', '03'],
    ['HTTP/3', '04'],
  ] as const)('have the version %s as %s', (version, hex) => {
    const bytes = bytesOf(`00000000 ${hex} c800`);
    const bare = { headers: [], version, code: 200 };
    expect(hexOf(encodeHttpResponse(bare))).toBe(hexOf(bytes));
    expect(decodeHttpResponse(bytes)).toEqual(bare);
  });

  it('have a negative timeout, and the longest name of a method', () => {
    const one = { ...request, timeoutMicros: -1n, method: 'X'.repeat(70_000) };
    expect(decodeHttpRequest(encodeHttpRequest(one))).toEqual(one);
  });

  it.each([
    ['a method without a tag', '0a 00000000 01 00000000 02', /unknown tag 0xa .* HttpMethod/],
    ['a version without a tag', '00 00000000 01 00000000 05', /unknown tag 0x5 .* HttpVersion/],
    ['an option of two tags', '00 00000000 02 00000000 02', /unknown tag 0x2 .* option/],
    ['more headers than bytes', '00 ffffffff 01 00000000 02', DecodeError],
    ['a name that is longer than the rest', '00 01000000 ffffffff 61 00', DecodeError],
    ['a name that is not UTF-8', '00 01000000 01000000ff 00000000 01 00000000 02', DecodeError],
    ['bytes behind the value', '00 00000000 01 00000000 02 00', '1 bytes follow the value'],
    ['nothing', '', DecodeError],
  ])('refuse %s', (_, hex, error) => {
    expect(() => decodeHttpRequest(bytesOf(hex))).toThrow(error);
    expect(() => decodeHttpRequest(bytesOf(hex))).toThrow(DecodeError);
  });

  it('have the parameters of their path beside them', () => {
    const params = [['id', 'ü/'] as const, ['*', ''] as const];
    expect(decodePathParameters(encodePathParameters(params))).toEqual(params);
    expect(decodePathParameters(encodePathParameters([]))).toEqual([]);
    expect(() => decodePathParameters(bytesOf('ffffffff'))).toThrow(DecodeError);
    expect(() => decodePathParameters(bytesOf('00000000 00'))).toThrow(DecodeError);
  });

  it('refuse every beginning of themselves', () => {
    const cases = [
      [bytesOf(requestHex), decodeHttpRequest],
      [bytesOf(responseHex), decodeHttpResponse],
    ] as const;
    for (const [bytes, decode] of cases) {
      for (let length = 0; length < bytes.length; length += 1) {
        expect(() => decode(bytes.subarray(0, length))).toThrow(DecodeError);
      }
    }
  });

  it('decode to themselves, or are refused, whichever byte is changed', () => {
    const bytes = bytesOf(requestHex);
    let decoded = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      for (const byte of [0, 1, 2, 9, 127, 128, 255]) {
        const changed = bytes.slice();
        changed[at] = byte;
        const read = decodedOrError(changed);
        if (read instanceof DecodeError) continue;
        decoded += 1;
        expect(decodeHttpRequest(encodeHttpRequest(read))).toEqual(read);
      }
    }
    expect(decoded).toBeGreaterThan(bytes.length);
  });
});

function decodedOrError(bytes: Uint8Array): HttpRequest | DecodeError {
  try {
    return decodeHttpRequest(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}
