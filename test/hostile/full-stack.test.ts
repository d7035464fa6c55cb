import { afterAll, describe, expect, it } from 'vitest';
import { AssertionError } from '../../src/assert.ts';
import {
  accountCodecs,
  accountTableId,
  loadProgram,
  rawProgram,
} from '../support/module-under-test.ts';

/**
 * A program chooses how full the stack is when it enters the host, the engine's formatter of
 * stacks, or a built-in. Whatever fails there must fail with an error of the program's own realm.
 */
const host = globalThis as { hostMarker?: string };
host.hostMarker = 'the host';

afterAll(() => {
  delete host.hostMarker;
});

/**
 * Guest text: `sweep(leaf)` calls `leaf` at each of the last levels before the stack is full, with
 * frames of many sizes, and returns the kinds of what it threw.
 */
const sweeper = `
const kinds = new Map();
const note = (thrown) => {
  let kind = typeof thrown;
  if (kind === 'object' && thrown !== null) {
    let top = thrown;
    for (let next = thrown; next !== null; next = Reflect.getPrototypeOf(next)) top = next;
    kind = top === Object.prototype ? 'own ' + thrown.name : 'FOREIGN';
    if (kind === 'FOREIGN') {
      try {
        if (thrown.constructor.constructor('return globalThis.hostMarker')()) kind = 'ESCAPED';
      } catch {}
    }
  }
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
};
const sweep = (leaf, sizes = 24) => {
  for (let size = 0; size < sizes; size += 1) {
    const locals = Array.from({ length: size }, (_, i) => 'let v' + i + ' = n + ' + i + ';').join('');
    const sum = ['0', ...Array.from({ length: size }, (_, i) => 'v' + i)].join('+');
    const dive = new Function('dive', 'leaf', 'note', 'n', locals +
      'try { dive(dive, leaf, note, n + 1) } catch (error) { note(error);' +
      ' try { leaf(n) } catch (inner) { note(inner) } if (n % 50 !== 0) throw error }' +
      ' return ' + sum);
    try { dive(dive, leaf, note, 1); } catch (error) { note(error); }
  }
  const result = [...kinds.keys()].sort().join();
  kinds.clear();
  return result;
};
`;

const reads: Readonly<Record<string, string>> = {
  'the stack of an error': '() => pool.pop()?.stack',
  'a stack in the making': '() => new Error("x").stack',
  captureStackTrace: '() => { const holder = {}; Error.captureStackTrace(holder); holder.stack; }',
  'a native error': '() => { try { null.x; } catch (error) { error.stack; } }',
  'sys.find': '() => sys.find(BY_ID, 4)',
  'sys.table_id': '() => sys.table_id("account")',
  'sys.row_count': '() => sys.row_count(TABLE)',
  'sys.scan': '() => { const it = sys.scan(TABLE); sys.next(it); sys.close(it); }',
  'sys.scan_range': '() => sys.scan_range(BY_BALANCE, 0, 0, 1, 1)',
  'sys.scratch': '() => sys.scratch(grown += 1)',
  'sys.seed': '() => sys.seed()',
  'sys.jwt': '() => sys.jwt()',
  'sys.violation': '() => sys.violation()',
  'sys.log': '() => sys.log(2, "x")',
  'sys.timer_end': '() => sys.timer_end(sys.timer_start("x"))',
  console: '() => console.log({ a: 1n })',
  'Math.random': '() => Math.random()',
  Date: '() => [new Date(), Date.now()]',
  eval: '() => eval("1+1")',
  'an eval that sees too much': `() => {
    if (eval('typeof lockdown + typeof Compartment') !== 'undefinedundefined') {
      throw { __proto__: null };
    }
  }`,
  'an eval cut short': `() => {
    try { eval('(function dive() { dive(); })()'); } catch {}
    if (eval('typeof lockdown') !== 'undefined') throw { __proto__: null };
  }`,
  'new Function': '() => new Function("return 1")()',
  'refused code': '() => eval("import(\\"fs\\")")',
  Promise: '() => { (async () => { await 1; throw 2; })().catch(() => {}); }',
  'import()': '() => { import("fs").catch(() => {}); }',
  TextEncoder: '() => new TextDecoder().decode(new TextEncoder().encode("é"))',
  Intl: '() => new Intl.NumberFormat("en").format(1)',
  RegExp: '() => /(a|b)*c/.exec("ababab")',
  JSON: '() => JSON.parse(JSON.stringify([{ a: 1 }]))',
  Proxy: '() => new Proxy({}, { get: (_, key) => key }).x',
  sort: '() => [3, 2, 1].sort((a, b) => a - b)',
};

describe('a full stack', () => {
  for (const [name, leaf] of Object.entries(reads)) {
    it(`gives a module nothing of the host: ${name}`, async () => {
      const { call, logs } = await loadProgram(
        rawProgram(
          `const pool = Array.from({ length: 2000 }, () => new Error('p'));
           let grown = 65536;
           result.kinds = sweep(${leaf});
           if (id === 1) console.log('kinds: ' + result.kinds);`,
          `${accountCodecs}\n${sweeper}\nconst result = {};`,
        ).replace('export default', 'export { result };\nexport default'),
      );
      expect(call(0)).toEqual({ kind: 'returned' });
      const before = logs.length;
      expect(call(1).kind).toBe('returned');
      const kinds = logs.findLast(({ message }) => message.startsWith('kinds: '))?.message;
      expect(kinds).not.toContain('FOREIGN');
      expect(kinds).not.toContain('ESCAPED');
      expect(kinds).toContain('own RangeError');
      expect(logs.length).toBeGreaterThan(before);
    });
  }

  it('ends a call that recurses without end, and nothing else', async () => {
    const { call, store } = await loadProgram(
      rawProgram(
        `if (id === 0) { const dive = (n) => { put(n, 1n); dive(n + 1); }; dive(1); }
         if (id === 1) { const dive = (n) => { find(n); dive(n + 1); }; dive(1); }
         if (id === 2) put(1, 1n);
         if (id === 3) { const dive = (n) => { change(1, BigInt(n)); dive(n + 1); }; dive(1); }`,
        accountCodecs,
      ),
    );
    for (let round = 0; round < 30; round += 1) {
      expect(call(0)).toMatchObject({
        kind: 'crashed',
        message: 'Uncaught RangeError: Maximum call stack size exceeded',
      });
      expect(call(1).kind).toBe('crashed');
      expect(call(2).kind).toBe('returned');
      expect(call(3).kind).toBe('crashed');
    }
    expect(store.table(accountTableId)?.rowCount).toBe(1);
  });

  it('that stops a write halfway ends the database rather than go on with it', async () => {
    const { call, store } = await loadProgram(
      rawProgram(
        `result.kinds = sweep((n) => { put(n, BigInt(n)); }, 12);`,
        `${accountCodecs}\n${sweeper}\nconst result = {};`,
      ),
    );
    let wasStopped = false;
    for (let round = 0; round < 3 && !wasStopped; round += 1) {
      try {
        call(0);
      } catch (error) {
        expect(error).toBeInstanceOf(AssertionError);
        wasStopped = true;
      }
    }
    if (!wasStopped) return;
    const refused = () => call(0);
    expect(refused).toThrow();
    expect(store.table(accountTableId)).toBeDefined();
  });
});
