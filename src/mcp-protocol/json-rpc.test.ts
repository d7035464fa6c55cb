import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { parseJson } from '../values/json.ts';
import { idText, readBody } from './json-rpc.ts';
import { jsonText, RawJson } from './json-text.ts';

const read = (body: unknown, mayBeBatch = false) =>
  readBody(typeof body === 'string' ? body : JSON.stringify(body), mayBeBatch);
const faultOf = (body: unknown, mayBeBatch = false) => {
  const message = read(body, mayBeBatch);
  if (message.kind !== 'invalid') throw new Error(`it is a ${message.kind}`);
  const { id, error } = message;
  return { id, code: error.code, status: error.status };
};

describe('a body', () => {
  it('[mcp A2] with an id is a request, and the id stays as it was written', () => {
    for (const id of ['7', '"seven"', 'null', '12345678901234567890', '1.50']) {
      const message = read(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expect(message).toEqual({ kind: 'request', id, method: 'ping', params: undefined });
    }
  });

  it('[mcp A2] without an id is a notification, whatever else it holds', () => {
    const objects = ['{}', '{"method":7}', '{"jsonrpc":"1.0","method":"ping"}'];
    for (const body of [...objects, '7', '"x"', 'null']) {
      expect(read(body).kind, body).toBe('notification');
    }
  });

  it('[mcp A2] that is no JSON, a list, or of another version is refused with 400', () => {
    expect(faultOf('{')).toEqual({ id: 'null', code: -32700, status: 400 });
    for (const body of ['[]', '[{"id":1}]']) {
      expect(faultOf(body), body).toEqual({ id: 'null', code: -32600, status: 400 });
    }
    const old = { jsonrpc: '1.0', id: 4, method: 'ping' };
    expect(faultOf(old)).toEqual({ id: '4', code: -32600, status: 400 });
    expect(faultOf({ jsonrpc: '2.0', id: {}, method: 'ping' }).id).toBe('null');
  });

  it('[mcp A2] without a method is an invalid request, answered like any other', () => {
    const fault = { id: '4', code: -32600, status: 200 };
    expect(faultOf({ jsonrpc: '2.0', id: 4 })).toEqual(fault);
    expect(faultOf({ jsonrpc: '2.0', id: 4, method: 7 })).toEqual(fault);
  });

  it('[mcp B3] with a result or an error answers a request of the server', () => {
    for (const [name, other] of [
      ['result', 'error'],
      ['error', 'result'],
    ] as const) {
      const message = read({ jsonrpc: '2.0', id: '4', [name]: 'any' });
      expect(message).toEqual({ kind: 'response', id: '"4"', [name]: 'any', [other]: undefined });
    }
  });

  it('[mcp B3] may be an array where the revision allows it, neither empty nor endless', () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const batch = read([ping, { method: 'x' }, 7], true);
    if (batch.kind !== 'batch') throw new Error('it is no batch');
    expect(batch.messages.map(({ kind }) => kind)).toEqual(['request', 'notification', 'invalid']);
    expect(faultOf([], true).status).toBe(400);
    expect(faultOf(Array(limits.mcpBatchMax + 1).fill(ping), true).status).toBe(400);
  });
});

describe('an id that something refers to', () => {
  it('[mcp B6] is known by its text, and only text and numbers are ids', () => {
    expect(idText('1')).toBe('"1"');
    expect(idText(parseJson('1'))).toBe('1');
    expect(idText(true)).toBeUndefined();
    expect(idText(undefined)).toBeUndefined();
  });

  it('[mcp B5] has a bound: each message that waits for a slow client repeats it', () => {
    const longest = limits.mcpIdCharactersMax;
    for (const write of [
      (length: number) => 'x'.repeat(length - 2),
      (length: number) => {
        return parseJson('7'.repeat(length));
      },
    ]) {
      expect(idText(write(longest))).toHaveLength(longest);
      expect(idText(write(longest + 1))).toBeUndefined();
    }
    const tooLong = { jsonrpc: '2.0', id: 'x'.repeat(longest), method: 'ping' };
    expect(faultOf(tooLong)).toEqual({ id: 'null', code: -32600, status: 400 });
  });
});

describe('JSON text', () => {
  it('[mcp A2] keeps the digits of numbers and what is text already', () => {
    const wide = parseJson('{"a":[1.50,12345678901234567890]}');
    expect(jsonText({ wide, raw: new RawJson('{"b" : 1}'), plain: 'é"', no: undefined })).toBe(
      '{"wide":{"a":[1.50,12345678901234567890]},"raw":{"b" : 1},"plain":"é\\""}',
    );
  });
});
