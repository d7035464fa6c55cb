import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { encodeHttpResponse, type HttpHeader } from '../protocol/http-abi.ts';
import { checkedResponse, forbiddenHeadersOf } from './handler-response.ts';

const header = (name: string, value: string | Uint8Array = ''): HttpHeader => {
  return { name, value: typeof value === 'string' ? new TextEncoder().encode(value) : value };
};
const responseOf = (code: number, headers: readonly HttpHeader[] = []) => {
  return { headers, version: 'HTTP/1.1' as const, code };
};
const faultOf = (code: number, headers: readonly HttpHeader[] = []) => {
  const checked = checkedResponse(encodeHttpResponse(responseOf(code, headers)));
  return 'fault' in checked ? checked.fault : undefined;
};

describe('[abi 9.3] the response of a handler', () => {
  it.each([200, 204, 304, 404, 599])('can have the status %i', (code) => {
    expect(faultOf(code)).toBeUndefined();
  });

  it.each([0, 99, 100, 101, 199, 600, 999, 65_535])('cannot have the status %i', (code) => {
    expect(faultOf(code)).toBe(`its status ${code} is not from 200 to 599`);
  });

  it('has names and values that HTTP knows', () => {
    expect(faultOf(200, [header("x-!#$%&'*+.^_`|~9", 'a\tb é'), header('a'), header('A')])).toBe(
      undefined,
    );
    for (const name of ['', ' a', 'a b', 'a:', 'a\n', 'é', '\u0000']) {
      expect(faultOf(200, [header(name)])).toBe(`\`${name}\` is not the name of a header`);
    }
    for (const byte of [0, 8, 10, 13, 31, 127]) {
      const fault = 'the value of its header `a` has control characters';
      expect(faultOf(200, [header('a', Uint8Array.of(97, byte, 97))])).toBe(fault);
    }
  });

  it('has a bounded number of headers and bytes of them', () => {
    const many = Array.from({ length: limits.handlerHeadersMax }, () => header('a'));
    expect(faultOf(200, many)).toBeUndefined();
    expect(faultOf(200, [...many, header('a')])).toBe('it has 257 headers, more than 256');
    const long = header('a', 'x'.repeat(limits.handlerHeaderBytesMax - 1));
    expect(faultOf(200, [long])).toBeUndefined();
    expect(faultOf(200, [long, header('b')])).toBe('its headers are 65537 bytes, more than 65536');
  });

  it('is one that can be read', () => {
    const head = encodeHttpResponse(responseOf(200, [header('a', 'b')]));
    for (let length = 0; length < head.length; length += 1) {
      expect(checkedResponse(head.subarray(0, length))).toHaveProperty('fault');
    }
    expect(checkedResponse(Uint8Array.of(...head, 0))).toEqual({
      fault: 'it cannot be read: 1 bytes follow the value',
    });
  });

  it('[http 13] is looked through for headers that it cannot set', () => {
    const headers = ['Set-Cookie', 'set-cookie', 'connection', 'x', 'NEL'].map((name) =>
      header(name),
    );
    expect(forbiddenHeadersOf(responseOf(200, headers))).toEqual(['set-cookie', 'nel']);
  });

  it.each([
    'X-Accel-Redirect',
    'x-accel-buffering',
    'X-Sendfile',
    'X-LiteSpeed-Location',
    'X-LIGHTTPD-send-file',
    'X-Reproxy-URL',
    'Spacetime-Identity',
    'spacetime-identity-token',
  ])('[http 13] cannot give orders to a proxy, or name a caller: %s', (name) => {
    const headers = [header('x-accelerated'), header('x-sendfiles'), header(name)];
    expect(forbiddenHeadersOf(responseOf(200, headers))).toEqual([name.toLowerCase()]);
  });
});
