import { describe, expect, it } from 'vitest';
import {
  anyone,
  failed,
  failures,
  ProcedureHandle,
  returned,
} from '../../test/support/procedure-handle.ts';
import { limits } from '../limits.ts';
import { call } from './call.ts';
import type { HttpContext } from './context.ts';
import { type Exchange, hintedText, Query, type Reply } from './exchange.ts';

const leaving = new AbortController();

function send({ handle }: ProcedureHandle, name: string, body: string): Promise<Reply> {
  const led = Object.assign(handle, { statistics: () => ({ offset: 7 }) });
  const host = { database: () => ({ handle: led, generation: 1 }), callerFor: () => anyone };
  const exchange = {
    params: { db: 'db', name },
    query: new Query(''),
    header: (name: string) => (name === 'content-type' ? 'application/json' : undefined),
    body: () => Promise.resolve(Buffer.from(body)),
    caller: {},
    abandoned: leaving.signal,
  };
  return call(exchange as unknown as Exchange, { host } as unknown as HttpContext);
}

describe('a procedure over HTTP', () => {
  it('[http 9.2] is answered with its value, without names, and its time', async () => {
    const fake = new ProcedureHandle();
    expect(await send(fake, 'look_up', '["tea",3]')).toMatchObject({
      status: 200,
      body: '["tea",1152921504606846976]',
      headers: {
        'content-type': 'application/json',
        'spacetime-energy-used': '0',
        'spacetime-execution-duration-micros': '42',
      },
    });
  });

  it('[living 2.8] gets to know that its caller is gone', async () => {
    const fake = new ProcedureHandle();
    await send(fake, 'look_up', '["tea",3]');
    expect(fake.signals).toEqual([leaving.signal]);
  });

  const expected: readonly (readonly [number, string])[] = [
    [404, 'No such procedure\nhint: Did you mean `look_up`?'],
    [400, 'invalid arguments for procedure look_up: no'],
    [500, 'The module instance encountered a fatal error: it threw'],
    [402, 'Procedure terminated due to insufficient budget\nhint: it ran too long'],
    [503, 'it stops'],
    [429, 'yours are in flight'],
    [503, 'all are in flight'],
    [403, 'it only reads'],
    [403, 'not you'],
    [503, 'the database was published again while it was called; call again'],
  ];

  it.each(failures.map((error, at) => ({ error, code: error.code, expected: expected[at] })))(
    '[http 9.2] that fails with $code is answered with $expected',
    async ({ error, expected }) => {
      const fake = new ProcedureHandle();
      fake.answer = () => failed(error);
      const { status, body, headers } = await send(fake, 'look_up', '["tea",3]');
      expect([status, body]).toEqual(expected);
      expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8' });
      const passes = error.code === 'procedure.busy' || error.code === 'procedure.stopped';
      expect(headers?.['retry-after']).toBe(passes ? '1' : undefined);
      const hasRun = status === 500 || status === 402;
      expect(headers?.['spacetime-execution-duration-micros']).toBe(hasRun ? '42' : undefined);
      const hint = headers?.['reducerdb-error-hint'];
      const [, hinted] = String(body).split('\nhint: ');
      expect(hint).toBe(hinted && encodeURI(hinted));
    },
  );

  it('[ease 3.6] has the beginning of a long hint, which fits into a header', () => {
    const { body, headers } = hintedText(500, 'It failed', `${'\u{ffff}'.repeat(5_000)}`);
    const [, hinted = ''] = String(body).split('\nhint: ');
    expect(hinted).toHaveLength(limits.hintCharactersMax);
    const encoded = headers?.['reducerdb-error-hint'] ?? '';
    expect(decodeURI(encoded)).toBe(hinted);
    expect(encoded.length).toBeLessThan(limits.headerBytesMax);
  });

  it('[http 9.2] is not asked for where a reducer has the name', async () => {
    const fake = new ProcedureHandle();
    expect(await send(fake, 'add', '[1]')).toMatchObject({ status: 200 });
    expect(fake.procedures).toEqual([]);
    fake.answerCall = () => {
      const error = { code: 'reducer.unknown', reducer: 'nothing' } as const;
      return { kind: 'aborted', error, micros: 0 };
    };
    expect(await send(fake, 'nothing', '[]')).toMatchObject({
      status: 404,
      body: 'No such procedure\nhint: There is `add`, `look_up`, `hidden_look`.',
    });
  });

  it('[http 9.2] whose value is an empty word is still answered with it', async () => {
    const fake = new ProcedureHandle();
    fake.answer = () => returned(['', 0n]);
    expect((await send(fake, 'look_up', '["",0]')).body).toBe('["",0]');
  });
});
