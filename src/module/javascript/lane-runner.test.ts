import { describe, expect, it } from 'vitest';
import { LaneUnderTest } from '../../../test/support/lane-under-test.ts';
import {
  accountCodecs,
  loadProgram,
  rawProgram,
  runRaw,
} from '../../../test/support/module-under-test.ts';

/** A program whose only procedure has this body, with `sys` in scope. */
function procedureProgram(body: string): string {
  const log = "const log = (...values) => globalSys.sys.log(2, values.join(' '));";
  const top = `${log}\n${accountCodecs}`;
  const hooks = `__call_procedure__(id, sender, connectionId, timestamp, args) {
    const { sys } = globalSys;
    ${body}
    return new Uint8Array(0);
  },
  __sender_error_class__`;
  return rawProgram('', top).replace('__sender_error_class__', hooks);
}

/** The end of a hook, and the beginning of one that returns what `body` says. */
function hookEnd(body: string): string {
  return `__call_procedure__(id, sender, connectionId, timestamp, args, call) { ${body}`;
}

/** Runs an asynchronous procedure with this body until it waits, by `slept` for instance. */
async function waitingProcedure(body: string, isAsync = true) {
  const top = `
    const log = (...values) => globalSys.sys.log(2, values.join(' '));
    ${accountCodecs}
    const waiting = new Map();
    const broken = { isBroken: false };
    const slept = (call) => new Promise((resolve) => {
      waiting.set(globalSys.sys.sleep(1n, call), resolve);
    });`;
  const hooks = `
  __operation_completed__(operation) {
    if (broken.isBroken) throw new Error('broken');
    waiting.get(operation)?.();
  },
  async __call_procedure__(id, sender, connectionId, timestamp, args, call) {
    const { sys } = globalSys;
    ${body}
    return new Uint8Array(0);
  },
  __sender_error_class__`;
  const text = rawProgram('', top).replace('__sender_error_class__', hooks);
  const module = await loadProgram(text);
  const lane = await LaneUnderTest.of(new TextEncoder().encode(text), module);
  lane.link.fetch = () => ({ kind: 'failed', message: 'not reached' });
  const first = lane.start({ jwtPayload: '{}' });
  if (isAsync) expect(first).toBe('waiting');
  return { lane, first, lines: () => lane.logs.map(({ message }) => message) };
}

async function runProcedure(body: string) {
  const text = procedureProgram(body);
  const module = await loadProgram(text);
  const lane = await LaneUnderTest.of(new TextEncoder().encode(text), module);
  const end = lane.run({});
  return { lane, end, lines: lane.logs.map(({ message }) => message), store: module.store };
}

describe('the calls of a lane', () => {
  it('[abi 12] need a transaction for data, and not for the rest of the call', async () => {
    const { lines } = await runProcedure(`
      log(sys.table_id('account'), sys.index_id('x'), sys.row_count(TABLE), put(1, 1n), find(1));
      log(sys.scan(TABLE), sys.next(1), sys.close(1), sys.clear(TABLE), sys.violation() === '');
      log(sys.seed(), sys.identity(), sys.jwt() === '');
    `);
    expect(lines).toEqual(['-2 -2 -2 -2 -2', '-2 -2 -2 -2 true', '32 219 true']);
  });

  it('[abi 12] cannot open a second transaction, nor end one that is not open', async () => {
    const { lines } = await runProcedure(`
      log(sys.end(1), sys.end(0));
      const open = sys.begin(0) > 0n;
      log(open, sys.begin(0), sys.begin(1), sys.call_reducer(0, 0), sys.reducer_id('x'));
      log(sys.end(1), sys.end(1));
      log(sys.begin(1) > 0n, sys.begin(0), put(1, 1n), sys.end(1));
    `);
    expect(lines).toEqual(['-18 -18', 'true -17 -17 -17 -17', '0 -18', 'true -17 -19 0']);
  });

  it('[abi 12] reach the rows, and are undone by an abort', async () => {
    const { lines } = await runProcedure(`
      sys.begin(0); put(1, 10n); put(2, 20n); log(put(1, 5n), sys.violation()); sys.end(1);
      sys.begin(0); change(1, 11n); log(find(1), sys.row_count(TABLE)); sys.end(0);
      sys.begin(1); log(find(1), find(3), sys.row_count(TABLE)); sys.end(1);
    `);
    expect(lines[0]).toMatch(/^-12 \{"table":"account"/);
    expect(lines.slice(1)).toEqual(['11 2', '10 -15 2']);
  });

  it('[abi 12] abort what is left open, and say so', async () => {
    const { lane, lines, end } = await runProcedure(`sys.begin(0); put(1, 1n);`);
    expect(end.kind).toBe('returned');
    const name = 'procedure_under_test';
    expect(lines).toEqual([`aborting dangling anonymous transaction in procedure ${name}`]);
    expect(lane.logs[0]).toMatchObject({ level: 'error', functionName: name });
    expect(lane.link.commitCount).toBe(0);
    expect(lane.run({}).kind).toBe('returned');
  });

  it('abort what is left open by a failure', async () => {
    const { lane, end } = await runProcedure(`sys.begin(0); put(1, 1n); throw new Error('x');`);
    expect(end).toMatchObject({ kind: 'failed', message: 'Uncaught Error: x' });
    expect(lane.run({})).toMatchObject({ kind: 'failed' });
    expect(lane.link.commitCount).toBe(0);
  });

  it('are over in promise jobs that outlive the call', async () => {
    const { lines } = await runProcedure(`
      Promise.resolve().then(() => log(sys.begin(0), put(1, 1n), sys.seed(), sys.fetch(0, 0)));
    `);
    expect(lines).toEqual(['-2 -2 -2 -21']);
  });

  it('[abi 3.6] share promises that no program can change', async () => {
    const { lane, lines } = await waitingProcedure(`
      const tried = (name, change) => {
        try { change(); log(name, 'changed'); } catch (error) { log(name, error.name); }
      };
      const broken = () => { throw new Error('broken'); };
      const { prototype } = Promise;
      for (const name of ['then', 'catch', 'finally', 'constructor', 'more']) {
        tried(name, () => { prototype[name] = broken; });
        tried(name, () => Object.defineProperty(prototype, name, { value: broken }));
      }
      tried('resolve', () => { Promise.resolve = broken; });
      tried('prototype', () => Object.setPrototypeOf(prototype, { then: broken }));
      // What inherits from it is the program's own.
      const own = Promise.resolve('own');
      own.then = (take) => take('replaced');
      class Sub extends Promise {}
      Sub.prototype.then = function (...args) { return super_.apply(this, args); };
      const super_ = prototype.then;
      log(await own, await Sub.resolve('sub'), own.constructor === Promise, Object.keys(own));
      await slept(call);
      log(await new Promise((resolve) => resolve('woken')));
    `);
    expect(lines().slice(0, 12)).toEqual(
      ['then', 'catch', 'finally', 'constructor', 'more']
        .flatMap((name) => [name, name])
        .concat('resolve', 'prototype')
        .map((name) => `${name} TypeError`),
    );
    expect(lines().at(12)).toBe('replaced sub true then');
    lane.complete();
    expect(lines().at(13)).toBe('woken');
  });

  it('[abi 12] go on in the name of the call that they name, and of no other', async () => {
    const { lane, lines } = await waitingProcedure(`
      const odd = [call + 1, -1, NaN, 1.5];
      await slept(call);
      // Nothing runs by itself any more.
      log(sys.begin(0), sys.seed(), sys.jwt() === '', sys.fetch_start(0, 0, 0), sys.end(1));
      for (const other of odd) {
        log(sys.begin(0, other), sys.call_reducer(0, 0, other), sys.failure());
      }
      log(sys.begin(0, call) > 0n, put(1, 1n), sys.end(1), sys.seed(call), sys.jwt(call));
      // To wait is no right of a caller.
      log(sys.sleep(1n) > 0, sys.sleep(1n, call + 1));
    `);
    expect(lane.complete()).toMatchObject([{ call: 1, end: { kind: 'returned' } }]);
    const ended = 'the call of this `ctx` has ended: it cannot be used any more';
    expect(lines()).toEqual([
      '-2 -2 true -2 -18',
      ...Array(4).fill(`-2 -2 ${ended}`),
      'true 0 0 32 {}',
      'true -2',
    ]);
    expect(lane.link.callers).toEqual([1]);
    expect(lane.link.cancelled).toHaveLength(1);
  });

  it('[abi 12] abort what a call has left open after it has waited', async () => {
    const { lane, lines } = await waitingProcedure(`
      await slept(call);
      const next = slept(call);
      sys.begin(0, call); put(1, 1n);
      await next;
      log(put(2, 1n));
    `);
    expect(lane.complete()).toEqual([]);
    expect(lane.complete()).toMatchObject([{ end: { kind: 'returned' } }]);
    const name = 'procedure_under_test';
    expect(lines()).toEqual([
      `aborting dangling anonymous transaction in procedure ${name}`,
      // It was refused.
      '-2',
    ]);
    expect(lane.link.commitCount).toBe(0);
  });

  it('[abi 12] start nothing within a transaction, and nothing that makes no sense', async () => {
    const { lines } = await waitingProcedure(`
      sys.begin(0);
      log(sys.sleep(1n, call), sys.sleep(1n), sys.fetch_start(0, 0, 0, call));
      sys.end(1);
      for (const odd of [NaN, -1, 1.5, 1e300, 2 ** 32]) {
        log(sys.fetch_start(odd, 0, 0, call), sys.fetch_start(0, odd, odd, call), sys.cancel(odd));
      }
      for (const odd of [1, '1', undefined, null]) {
        try { sys.sleep(odd, call); } catch (error) { log(error.message); }
      }
      for (const micros of [-5n, 2n ** 70n]) sys.sleep(micros, call);
      await slept(call);
    `);
    expect(lines().slice(0, 6)).toEqual(['-17 -17 -17', ...Array(5).fill('-3 -3 0')]);
    expect(lines()[6]).toBe('Expected `i64`, got number');
  });

  it.each([
    ['bytes too late', 'await slept(call); return "text";', 'must return a Uint8Array'],
    ['no promise', 'return { then() {} };', 'must return a Uint8Array'],
    ['a promise of nothing', 'return Promise.resolve();', 'must return a Uint8Array'],
    ['what throws when it is read', 'throw { get message() { throw 1; } };', 'Uncaught'],
    ['never', 'return new Promise(() => {});', 'awaits a promise that nothing will resolve'],
  ])('[abi 12] fail when they return %s', async (_what, body, message) => {
    const isAsync = body.includes('await');
    const text = isAsync ? body : `}, ${hookEnd(body)}`;
    const { lane, first } = await waitingProcedure(text, isAsync);
    const end = isAsync ? lane.complete()[0]?.end : first;
    expect(end).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  it('[abi 12] are followed by the inside of their promise', async () => {
    const returned = `
      const { sys } = globalSys;
      return Object.defineProperties(slept(call).then(() => new Uint8Array(0)), {
        then: { value: () => log('called') },
        constructor: { get: () => log('read') },
      });`;
    const { lane, lines } = await waitingProcedure(`}, ${hookEnd(returned)}`);
    expect(lane.complete()).toMatchObject([{ call: 1, end: { kind: 'returned' } }]);
    expect(lines()).toEqual([]);
  });

  it('[abi 12] lose nobody when a hook throws', async () => {
    const { lane, lines } = await waitingProcedure(`
      await slept(call);
      broken.isBroken = true;
      await slept(call);
    `);
    expect(lane.complete()).toEqual([]);
    const message = expect.stringContaining('awaits a promise that nothing will resolve');
    expect(lane.complete()).toMatchObject([{ end: { kind: 'failed', message } }]);
    expect(lines()).toEqual(['__operation_completed__ failed: Error: broken']);
    // Nothing is known of this one.
    lane.runner.completed(77, { kind: 'slept' });
    lane.runner.abort(77, 'gone');
    lane.runner.drop(77);
    expect(lane.runner.takeEnded()).toEqual([]);
  });

  it('refuse numbers that nobody asked for', async () => {
    const odd = '[NaN, -1, 1.5, 1e300, Infinity, 2 ** 32]';
    const { lines, lane } = await runProcedure(`
      for (const odd of ${odd}) log(sys.call_reducer(0, odd), sys.fetch(odd, odd), sys.end(odd));
      sys.begin(0);
      for (const odd of ${odd}) log(sys.find(odd, 4), sys.find(BY_ID, odd), sys.insert(TABLE, odd));
    `);
    expect(lines.slice(0, 6)).toEqual(Array(6).fill('-3 -21 -18'));
    expect(lines.slice(6, 12)).toEqual(Array(6).fill('-5 -3 -3'));
    lane.link.fetch = () => ({ kind: 'failed', message: 'not reached' });
    expect(lane.run({}).kind).toBe('returned');
    expect(lane.logs.filter(({ message }) => message === '-3 -3 -18')).toHaveLength(6);
  });

  it('must return bytes', async () => {
    const { end } = await runProcedure(`return 'text';`);
    const message = 'Uncaught TypeError: __call_procedure__ must return a Uint8Array';
    expect(end).toMatchObject({ kind: 'failed', message });
  });

  it('fail for a program without the hook', async () => {
    const text = rawProgram('');
    const lane = await LaneUnderTest.of(new TextEncoder().encode(text), await loadProgram(text));
    const message = expect.stringContaining('Expected module function hook `__call_procedure__`');
    expect(lane.run({})).toMatchObject({ kind: 'failed', message });
  });
});

describe('[abi 9.3] the hook of handlers', () => {
  const run = async (body: string) => {
    const hooks = `__call_http_handler__(id, timestamp, request, body, params, sender, call) {
      const { sys } = globalSys;
      ${body}
    },
    __sender_error_class__`;
    const text = rawProgram('').replace('__sender_error_class__', hooks);
    const lane = await LaneUnderTest.of(new TextEncoder().encode(text), await loadProgram(text));
    const parts = { args: Uint8Array.of(1, 2), body: new Uint8Array(5_000).fill(3) };
    const call = { kind: 'handler' as const, id: 4, params: [['id', '7']] as const, ...parts };
    return { end: lane.run(call), lane };
  };

  it('gets the parts of the request, and gives two', async () => {
    const { end, lane } = await run(`
      const shown = [id, timestamp > 0n, request.join(), body.length, body[4999], params.length];
      sys.log(2, [...shown, sender.toString(16), call].join(' '));
      // Views of its own: nothing of the next call can be seen through them.
      globalSys.kept ??= request;
      return [request, body.slice(0, 2)];
    `);
    expect(end).toEqual({
      kind: 'returned',
      value: Uint8Array.of(1, 2),
      body: Uint8Array.of(3, 3),
    });
    expect(lane.logs.map(({ message }) => message)).toEqual(['4 true 1,2 5000 3 15 5e4d 1']);
  });

  it.each([
    'undefined',
    '[request]',
    '[request, body, body]',
    '[1, body]',
    '{ 0: request, 1: body }',
  ])('must not give %s', async (given) => {
    const { end } = await run(`return ${given};`);
    const message = 'Uncaught TypeError: `__call_http_handler__` must return a two-element array';
    expect(end).toMatchObject({ kind: 'failed', message });
  });

  it('is looked for when it is called', async () => {
    const text = rawProgram('');
    const lane = await LaneUnderTest.of(new TextEncoder().encode(text), await loadProgram(text));
    const message = expect.stringContaining(
      'Expected module function hook `__call_http_handler__`',
    );
    expect(lane.run({ kind: 'handler' })).toMatchObject({ kind: 'failed', message });
  });
});

describe('the calls of procedures', () => {
  it('[abi 12] are refused in a reducer', async () => {
    const { messages } = await runRaw(`
      const { sys } = globalSys;
      const codes = [sys.begin(0), sys.end(1), sys.call_reducer(0, 0), sys.reducer_id('x')];
      sys.log(2, [...codes, sys.fetch(0, 0), sys.result_bytes(), sys.failure() === ''].join(' '));
    `);
    expect(messages).toEqual(['-17 -18 -17 -17 -17 0 true']);
  });
});
