import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts';
import {
  checkHeaders,
  checkParameterHeaders,
  expectedHeaders,
  type NamedMessage,
} from './request-headers.ts';

const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const named = (method: string, params: object): NamedMessage => ({
  method,
  params: parseJson(JSON.stringify({ ...params, _meta })),
});
const headerOf = (headers: Record<string, string>) => (name: string) => headers[name];
const mismatch = (name: string) =>
  expect.objectContaining({ code: -32020, message: expect.stringContaining(name) });

describe('headers that repeat parts of a message', () => {
  it('[mcp B4] are version, method, and the name of what is called, got or read', () => {
    const common = (method: string) => ({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    });
    expect(expectedHeaders(named('tools/list', {}))).toEqual(common('tools/list'));
    for (const method of ['tools/call', 'prompts/get']) {
      const headers = { ...common(method), 'mcp-name': 'sql' };
      expect(expectedHeaders(named(method, { name: 'sql' }))).toEqual(headers);
    }
    expect(expectedHeaders(named('resources/read', { uri: 'a:///b' }))).toEqual({
      ...common('resources/read'),
      'mcp-name': 'a:///b',
    });
  });

  it('[mcp B4] pass when they are as a client derives them, whatever the name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const message = named('tools/call', { name });
        const headers = expectedHeaders(message);
        for (const value of Object.values(headers)) expect(value).toMatch(/^[\x20-\x7e]*$/);
        checkHeaders(message, headerOf(headers));
      }),
    );
  });

  it('[mcp B4] fail when one is missing, differs, or has another case', () => {
    const message = named('tools/call', { name: 'sql' });
    const right = expectedHeaders(message);
    for (const name of Object.keys(right)) {
      const { [name]: value = '', ...others } = right;
      for (const wrong of [{}, { [name]: `${value}x` }, { [name]: value.replace(/[a-z]/, 'Q') }]) {
        if (Object.values(wrong)[0] === value) continue;
        const header = headerOf({ ...others, ...wrong });
        expect(() => checkHeaders(message, header), JSON.stringify(wrong)).toThrow(mismatch(name));
      }
    }
  });

  it('[mcp B4] may have blanks around them', () => {
    const message = named('tools/call', { name: 'sql' });
    const padded = { ...expectedHeaders(message), 'mcp-name': '  sql\t' };
    checkHeaders(message, headerOf(padded));
  });
});

describe('a header value', () => {
  it('[mcp B4] is base64 of UTF-8 when it is not plain', () => {
    expect(encodeHeaderValue('sql')).toBe('sql');
    expect(encodeHeaderValue('a b')).toBe('a b');
    expect(encodeHeaderValue('é')).toBe('=?base64?w6k=?=');
    expect(encodeHeaderValue(' a')).toBe('=?base64?IGE=?=');
    expect(encodeHeaderValue('=?base64?w6k=?=')).toMatch(/^=\?base64\?/);
  });

  it('[mcp B4] is refused when it is badly encoded', () => {
    const bad = ['=?base64?w6k?=', '=?base64?w 6k=?=', '=?base64?/w==?=', 'caf\u00e9', 'a\u0000b'];
    for (const value of bad) {
      expect(() => decodeHeaderValue(value, 'mcp-name'), value).toThrow(mismatch('mcp-name'));
    }
    expect(decodeHeaderValue('=?BASE64?w6k=?=', 'mcp-name')).toBe('=?BASE64?w6k=?=');
  });
});

describe('headers that repeat arguments', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      inner: {
        type: 'object',
        properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } },
      },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      other: { type: 'string' },
    },
  };
  const check = (args: object, headers: Record<string, string>) => () =>
    checkParameterHeaders(schema, parseJson(JSON.stringify(args)), headerOf(headers));

  it('[mcp B4] pass when they are equal, integers as numbers', () => {
    check(
      { region: 'eu', inner: { count: 42 }, dry: true },
      { 'mcp-param-region': 'eu', 'mcp-param-count': '042', 'mcp-param-dry': 'true' },
    )();
    check({ region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' })();
    check({ region: null, other: 'x' }, {})();
    expect(check({ region: '42' }, { 'mcp-param-region': '042' })).toThrow(mismatch('region'));
  });

  it('[mcp B4] fail when missing, different, or there without an argument', () => {
    expect(check({ region: 'eu' }, {})).toThrow(mismatch('region'));
    expect(check({ region: 'eu' }, { 'mcp-param-region': 'us' })).toThrow(mismatch('region'));
    expect(check({}, { 'mcp-param-region': 'eu' })).toThrow(mismatch('region'));
    const far = { inner: { count: 9_007_199_254_740_991 } };
    expect(check(far, { 'mcp-param-count': '9007199254740992' })).toThrow(mismatch('count'));
  });
});
