import { describe, expect, it } from 'vitest';
import {
  accountCodecs,
  accountTableId,
  calledMicros,
  loadProgram,
  publishedMicros,
  rawProgram,
  runRaw,
} from '../../../test/support/module-under-test.ts';
import { limits } from '../../limits.ts';
import { ProgramError } from '../runner.ts';

const returned = { kind: 'returned' };

async function loadError(program: string): Promise<string> {
  const error = await loadProgram(program).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProgramError);
  return (error as Error).message;
}

describe('loading a program', () => {
  it('[abi 3.1] describes it once', async () => {
    const { runner } = await loadProgram(rawProgram(''));
    expect([...runner.describe()]).toEqual([1, 2, 3]);
  });

  it('[abi 3.1] names what the default export lacks', async () => {
    expect(await loadError('export const x = 1;')).toContain(
      'must export schema as default export',
    );
    expect(await loadError('export default 7;')).toContain('default export is not a Schema object');
    expect(await loadError('export default {};')).toContain(
      'default export is not a Schema object',
    );
    const hooks = "export default { [Symbol.for('reducerdb.moduleHooks.v1')]: () => ({}) };";
    expect(await loadError(hooks)).toContain(
      'Expected module function hook `__describe_module__`, got undefined',
    );
  });

  it('[abi 3.1, 5] refuses imports by their kind', async () => {
    const withImport = (name: string) => `import '${name}';\n${rawProgram('')}`;
    expect(await loadError(withImport('left-pad'))).toBe('Could not find module "left-pad"');
    expect(await loadError(withImport('spacetime:sys@x'))).toBe(
      'Invalid version in module spec "spacetime:sys@x"',
    );
    expect(await loadError(withImport('spacetime:sys@2.0'))).toContain('is not supported yet');
    expect(await loadError(withImport('spacetime:sys@2.9'))).toContain(
      'It requires sys module v2.9, but that version is not supported by the database.',
    );
  });

  it('[abi 3.1] refuses top-level await and import.meta', async () => {
    expect(await loadError('await 1; export default {};')).toBe(
      'module has top-level await and is pending',
    );
    expect(await loadError('export default import.meta;')).toBe(
      'import.meta is not available in modules',
    );
  });

  it('tells an error at top level with its place', async () => {
    const message = await loadError(rawProgram('', '\nfunction start() { null.x; }\nstart();'));
    expect(message).toMatch(/^Uncaught TypeError: Cannot read properties of null/);
    expect(message).toContain('\n\tat start (module.js:5:');
  });

  it('[abi 4] answers data calls with a code while it loads', async () => {
    const program = rawProgram('').replace(
      'globalSys.sys = sys;',
      `console.log(sys.table_id('account'), sys.insert(1, 1), sys.scan(1), sys.seed());`,
    );
    const { logs } = await loadProgram(program);
    expect(logs[0]?.message).toBe('-1 -1 -1 -1');
  });

  it('[abi 3.2] hands over the namespace in order of its keys', async () => {
    const program = `${rawProgram('').replace(
      'globalSys.sys = sys;',
      'console.log(Object.keys(namespace).join(), namespace[Symbol.toStringTag]);',
    )}\nexport const b = 1; export const a = 2; export const B = 3;`;
    const { logs } = await loadProgram(program);
    expect(logs[0]?.message).toBe('B,a,b,default Module');
  });
});

describe('a call', () => {
  it('[abi 3.3] gets its arguments as primitives and a view', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(`console.log([id, sender, connectionId, timestamp].map(String).join(),
        args.byteOffset, args.byteLength, args.byteLength > 0 ? args.getUint8(0) : '-');`),
    );
    call(3, { args: new Uint8Array([9, 8]) });
    call(4, { args: new Uint8Array(100_000).fill(5) });
    expect(logs.map(({ message }) => message)).toEqual([
      `3,24141,192,${calledMicros} 0 2 9`,
      `4,24141,192,${calledMicros} 0 100000 5`,
    ]);
  });

  it('[abi 3.3] reuses the buffer of its arguments', async () => {
    const { call, logs } = await loadProgram(
      rawProgram('seen.add(args.buffer); console.log(seen.size);', 'const seen = new Set();'),
    );
    call(0, { args: new Uint8Array(3) });
    call(0, { args: new Uint8Array(4_096) });
    call(0, { args: new Uint8Array(4_097) });
    call(0, { args: new Uint8Array(4) });
    expect(logs.map(({ message }) => message)).toEqual(['1', '1', '2', '2']);
  });

  it('[abi 3.5] that throws the SenderError class is refused in its words', async () => {
    const { outcome } = await runRaw("throw new SenderError('not you');");
    expect(outcome).toEqual({ kind: 'refused', message: 'not you' });
  });

  it('[abi 3.5] that throws anything else has crashed, with a trace', async () => {
    const { outcome } = await runRaw('fail();', "function fail() { throw new Error('boom'); }");
    expect(outcome).toMatchObject({ kind: 'crashed', message: 'Uncaught Error: boom' });
    expect(outcome).toHaveProperty('trace.0.functionName', 'fail');
    expect(outcome).toHaveProperty('trace.0.moduleName', 'module.js:4:25');
    expect(outcome).toHaveProperty('trace.length', 2);
  });

  it('[client-sdk 14] that returns bytes, or throws them, gives a copy', async () => {
    const kept = 'const kept = new Uint8Array([1, 2, 3]);';
    const { outcome, call } = await runRaw('return kept.fill(kept[0] + 1);', kept);
    expect(outcome).toEqual({ kind: 'returned', value: Uint8Array.of(2, 2, 2) });
    expect(call(0)).toEqual({ kind: 'returned', value: Uint8Array.of(3, 3, 3) });
    expect(outcome).toEqual({ kind: 'returned', value: Uint8Array.of(2, 2, 2) });
    const thrown = await runRaw(
      "throw Object.assign(new SenderError('no'), { __error_bytes__: new Uint8Array([7]) });",
    );
    expect(thrown.outcome).toEqual({
      kind: 'refused',
      message: 'no',
      value: Uint8Array.of(7),
    });
  });

  it('[client-sdk 14] gives no more bytes than there really are, and nothing else', async () => {
    const lies = [
      "return Object.defineProperty(new Uint8Array(2), 'length', { value: 1e9 });",
      "return Object.defineProperty(new Uint8Array(2), 'byteLength', { value: 1e9 });",
      'return new (class extends Uint8Array { get length() { return 1e9; } })(2);',
    ];
    for (const lie of lies) {
      expect((await runRaw(lie)).outcome).toEqual({ kind: 'returned', value: new Uint8Array(2) });
    }
    const others = ['new ArrayBuffer(2)', '[1, 2]', 'new DataView(new ArrayBuffer(2))', '"12"'];
    for (const other of [...others, 'Object.create(Uint8Array.prototype)']) {
      expect((await runRaw(`return ${other};`)).outcome).toMatchObject({ kind: 'crashed' });
      const error = `Object.assign(new SenderError('no'), { __error_bytes__: ${other} })`;
      const refused = { kind: 'refused', message: 'no' };
      expect((await runRaw(`throw ${error};`)).outcome).toEqual(refused);
    }
    const getter = "get() { throw new Error('x'); }";
    const trap = `Object.defineProperty(new SenderError('no'), '__error_bytes__', { ${getter} })`;
    expect((await runRaw(`throw ${trap};`)).outcome).toEqual({ kind: 'refused', message: 'no' });
  });

  it('[client-sdk 14] whose value is too large has crashed', async () => {
    const { outcome } = await runRaw(`return new Uint8Array(${limits.callResultBytesMax + 1});`);
    expect(outcome).toMatchObject({ kind: 'crashed' });
    const largest = await runRaw(`return new Uint8Array(${limits.callResultBytesMax});`);
    expect(largest.outcome).toMatchObject({ kind: 'returned' });
  });

  it('[abi 3.3] that returns a value has crashed', async () => {
    const { outcome } = await runRaw('return 1;');
    expect(outcome).toMatchObject({
      kind: 'crashed',
      message: 'Uncaught TypeError: Reducer returned a value other than `undefined`',
    });
  });

  it('cuts a trace at the function that ends it', async () => {
    const { outcome } = await runRaw(
      '__spacetimedb_end_short_backtrace(() => { inner(); });',
      `function __spacetimedb_end_short_backtrace(run) { run(); }
       function inner() { throw new Error('x'); }`,
    );
    expect(outcome).toHaveProperty('trace.length', 2);
    expect(outcome).toHaveProperty('trace.0.functionName', 'inner');
  });

  it('[abi 3.6] sees its own time and the generator of its seed', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(
        'console.log(Date.now(), new Date().getTime(), Math.random());',
        'console.log(Date.now(), Math.random() < 1);',
      ),
    );
    call(0);
    call(0);
    call(0, { seed: new Uint8Array(32).fill(1) });
    const [loading, first, second, third] = logs.map(({ message }) => message);
    expect(loading).toBe(`${publishedMicros / 1000n} true`);
    expect(first).toMatch(new RegExp(`^${calledMicros / 1000n} ${calledMicros / 1000n} 0\\.`));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('[abi 3.6] finds the globals of the language, and no others', async () => {
    const { messages } = await runRaw(
      `const absent = ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'fetch',
         'URL', 'Headers', 'Request', 'Response', 'crypto', 'performance', 'structuredClone',
         'process', 'Buffer', 'require', 'module', 'exports', 'global', 'window',
         'SharedArrayBuffer', 'Atomics', 'lockdown', 'harden', 'Compartment', 'assert'];
       console.log(absent.filter(
         (name) => name in globalThis || eval('typeof ' + name) !== 'undefined').join());
       console.log(
         [typeof Symbol.dispose, typeof Intl, typeof Float64Array, typeof WeakRef].join());
       { using closing = { [Symbol.dispose]: () => console.log('closed') }; }
       globalThis.answer = 42; console.log(answer, new Function('return answer')());
       globalThis.Date = class { static now() { return 1; } }; console.log(Date.now());
       globalThis.console = { log: (text) => sys.log(1, 'mine: ' + text) }; console.log('x');`,
    );
    expect(messages).toEqual([
      '',
      'symbol,object,function,function',
      'closed',
      '42 42',
      '1',
      'mine: x',
    ]);
  });

  it('[abi 3.6] has text codecs as specified', async () => {
    const { messages } = await runRaw(
      `const attempt = (run) => {
         try { return run(); } catch (error) { return error.name + ': ' + error.message; } };
       const text = 'aé€😀\ud800z';
       const bytes = new TextEncoder().encode(text);
       console.log(bytes instanceof Uint8Array, [...bytes].join());
       console.log(new TextDecoder().decode(bytes) === text.toWellFormed?.() || 'no toWellFormed');
       console.log(new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65, 0xff, 0xc3])));
       const fatal = new TextDecoder('utf-8', { fatal: true });
       console.log(attempt(() => fatal.decode(new Uint8Array([0xc0]))));
       console.log(attempt(() => new TextDecoder('utf8')).slice(0, 11));
       console.log(attempt(() => new TextDecoder('utf-8', { ignoreBOM: true })));
       console.log(attempt(() => new TextDecoder().decode(bytes, { stream: true })));
       const long = 'ü😀'.repeat(10000);
       console.log(new TextDecoder().decode(new TextEncoder().encode(long)) === long);`,
    );
    expect(messages[0]).toBe('true 97,195,169,226,130,172,240,159,152,128,239,191,189,122');
    expect(messages.slice(2)).toEqual([
      'A\ufffd\ufffd',
      'TypeError: The encoded data was not valid for encoding utf-8',
      'RangeError:',
      "TypeError: Option 'ignoreBOM' not supported",
      "TypeError: Option 'stream' not supported",
      'true',
    ]);
  });

  it('runs promise jobs after the call, without the database', async () => {
    const { outcome, messages, store } = await runRaw(
      `(async () => { put(1, 1n); await 1; console.log('later', put(2, 2n)); await null;
         throw new Error('lost'); })();
       console.log('now');`,
      accountCodecs,
    );
    expect(outcome).toEqual(returned);
    expect(messages.slice(0, 2)).toEqual(['now', 'later -2']);
    expect(messages[2]).toBe('Unhandled promise rejection: Error: lost');
    expect(store.table(accountTableId)?.rowCount).toBe(1);
  });
});

describe('data calls', () => {
  it('[abi 4, 8.1] insert, find, update and delete rows', async () => {
    const { outcome, messages, store } = await runRaw(
      `console.log(sys.table_id('account') === TABLE, sys.table_id('accountSource') === TABLE,
         sys.table_id('nope'), sys.table_id('st_client'), sys.index_id('account_id_idx') === BY_ID,
         sys.index_id('nope'));
       console.log(put(0, 10n), view().getUint32(0, true), put(7, 20n), put(7, 20n), put(7, 21n));
       console.log(sys.violation());
       console.log(String(find(1)), find(99), change(1, 11n), change(50, 1n), String(find(1)));
       console.log(
         sys.row_count(TABLE), sys.row_count(3), sys.insert(TABLE, 11), sys.insert(7, 12));
       view().setUint32(0, 1, true); view().setUint32(4, 7, true); view().setBigInt64(8, 20n, true);
       view().setUint32(0, 7, true); view().setBigInt64(4, 20n, true);
       const lengths = [12, 12, 3];
       console.log(...lengths.map((length) => sys.delete_equal(TABLE, length)));
       console.log(sys.clear(TABLE), sys.row_count(TABLE));
       put(3, 3n);`,
      accountCodecs,
    );
    expect(outcome).toEqual(returned);
    expect(messages).toEqual([
      'true true -4 -4 true -5',
      '4 1 0 0 -12',
      expect.stringContaining('"table":"account"'),
      '10 -15 0 -15 11',
      '2 -4 -3 -4',
      '1 0 -3',
      '1 0',
    ]);
    expect(store.table(accountTableId)?.rowCount).toBe(1);
  });

  it('[abi 8.2] scan a snapshot, in chunks of whole rows', async () => {
    const { messages } = await runRaw(
      `for (let id = 1; id <= 6000; id += 1) put(id, BigInt(id));
       const all = sys.scan(TABLE);
       console.log(sys.clear(TABLE));
       let chunks = 0; let bytes = 0;
       for (let n = sys.next(all); n > 0; n = sys.next(all)) { chunks += 1; bytes += n; }
       console.log(chunks, bytes, sys.next(all), sys.close(all), sys.next(0), sys.next(-1));
       const empty = sys.scan(TABLE);
       console.log(empty, sys.close(empty), sys.close(empty));`,
      accountCodecs,
    );
    expect(messages).toEqual(['6000', '2 72000 -6 -6 -6 -6', '1 0 -6']);
  });

  it('[abi 8.2] scan and delete points and ranges', async () => {
    const bound = (tag: number, at: string, value: string) =>
      `view().setUint8(${at}, ${tag}); view().setBigInt64(${at} + 1, ${value}, true);`;
    const { messages } = await runRaw(
      `for (let id = 1; id <= 10; id += 1) put(id, BigInt(id % 5));
       view().setBigInt64(0, 3n, true);
       let it = sys.scan_point(BY_BALANCE, 8);
       console.log(sys.next(it), sys.next(it));
       ${bound(0, '0', '1n')}${bound(1, '9', '4n')}
       it = sys.scan_range(BY_BALANCE, 0, 0, 9, 9);
       console.log(sys.next(it), view().getBigInt64(4, true), sys.close(it));
       console.log(sys.scan_range(BY_ID, 0, 0, 9, 9), sys.scan_range(99, 0, 0, 9, 9),
         sys.scan_range(BY_BALANCE, 1, 8, 9, 9), sys.scan_range(BY_BALANCE, 0, 0, 8, 9),
         sys.scan_point(BY_BALANCE, 3), sys.find(BY_BALANCE, 8), sys.find(BY_ID, 5));
       ${bound(0, '0', '2n')}
       console.log(sys.delete_range(BY_BALANCE, 0, 0, 9, 0), sys.row_count(TABLE));
       view().setBigInt64(0, 3n, true);
       console.log(sys.delete_point(BY_BALANCE, 8), sys.row_count(TABLE));`,
      accountCodecs,
    );
    expect(messages).toEqual(['24 0', '72 1n 0', '-10 -5 -3 -3 -3 -14 -3', '2 8', '2 6']);
  });

  it('[abi 2] closes iterators with the call and bounds how many are open', async () => {
    const { call, logs } = await loadProgram(
      rawProgram(
        `if (id === 0) {
           for (;;) { const it = sys.scan(TABLE); if (it < 0) { console.log(it); break; } } }
         else console.log(sys.next(1), sys.scan(TABLE));`,
        accountCodecs,
      ),
    );
    call(0);
    call(1);
    expect(logs.map(({ message }) => message)).toEqual(['-9', '-6 1']);
  });

  it('refuse arguments of the wrong kind with an error of the guest', async () => {
    const { messages } = await runRaw(
      `for (const run of [() => sys.insert('1', 2), () => sys.table_id(5), () => sys.find({}, 1),
         () => sys.scratch(1e12), () => sys.log('x', 'y')]) {
         try { run(); console.log('no error'); } catch (error) {
           console.log(error instanceof Error, error.name, error.message);
         }
       }
       console.log(sys.insert(TABLE, -1), sys.insert(TABLE, 1.5), sys.insert(TABLE, NaN),
         sys.insert(TABLE, 1e9), sys.insert(NaN, 12), sys.find(BY_ID, Infinity), sys.next(1.5));`,
      accountCodecs,
    );
    expect(messages).toEqual([
      'true TypeError Expected `u32`, got string',
      'true TypeError Expected `string`, got number',
      'true TypeError Expected `u32`, got object',
      expect.stringContaining('true RangeError a row or key may have at most'),
      'true TypeError Expected `u32`, got string',
      '-3 -3 -3 -3 -4 -3 -6',
    ]);
  });

  it('undo nothing and refuse everything outside of a call', async () => {
    const { outcome, messages, store } = await runRaw(
      "put(1, 1n); globalSys.late = () => put(2, 2n); throw new SenderError('no');",
      accountCodecs,
    );
    expect(outcome.kind).toBe('refused');
    expect(messages).toEqual([]);
    expect(store.table(accountTableId)?.rowCount).toBe(0);
  });
});

describe('the log of a call', () => {
  it('[abi 8.4] names function, file and line', async () => {
    const { logs } = await runRaw(
      "say('a'); console.error('b'); sys.log(4, 'c'); sys.log(77, 'd');",
      '\nfunction say(text) {\n  console.log(text);\n}',
    );
    expect(logs).toEqual([
      {
        level: 'info',
        message: 'a',
        functionName: 'reducer_under_test',
        fileName: 'module.js',
        lineNumber: 6,
      },
      expect.objectContaining({ level: 'error', message: 'b', lineNumber: 14 }),
      expect.objectContaining({ level: 'trace', message: 'c' }),
      expect.objectContaining({ level: 'debug', message: 'd' }),
    ]);
  });

  it('is cut in length and in number', async () => {
    const { logs } = await runRaw(
      "console.log('é'.repeat(1e6)); for (let i = 0; i < 12000; i += 1) console.log(i);",
    );
    expect(logs.length).toBe(limits.logLinesPerCallMax + 1);
    expect(logs.at(-1)).toMatchObject({
      level: 'warn',
      message: '2001 more log lines of this call were dropped',
    });
    const bytes = new TextEncoder().encode(logs[0]?.message).length;
    expect(bytes).toBeLessThanOrEqual(limits.logLineBytesMax);
  });

  it('[abi 8.4] tells how long a timer ran', async () => {
    const { messages } = await runRaw(
      "const t = sys.timer_start('load'); console.log(sys.timer_end(t), sys.timer_end(t));",
    );
    expect(messages[0]).toMatch(/^Timing span "load": [\d.]+(µs|ms|s)$/);
    expect(messages[1]).toBe('0 -7');
  });
});
