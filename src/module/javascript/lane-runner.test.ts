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
