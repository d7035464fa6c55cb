import { describe, expect, it } from 'vitest';
import {
  accountBalanceIndex,
  accountCodecs,
  accountIdIndex,
  accountTableId,
  loadProgram,
  publishedMicros,
} from '../../../test/support/module-under-test.ts';
import { moduleHooksKey } from '../../protocol/module-abi.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { keyText } from '../read-set.ts';
import { type ViewOutcome, viewHookId } from '../runner.ts';

/** A program of the raw boundary whose view hooks have the same body. */
function viewProgram(body: string, hooks = 'view, anonymous'): string {
  return `
class SenderError extends Error {}
const globalSys = {};
const seen = [];
${accountCodecs}
const view = (id, sender, args) => { const sys = globalSys.sys; ${body} };
const anonymous = (id, args) => view(id, 'nobody', args);
const rows = (...bytes) => ({ data: new Uint8Array(bytes) });
const offered = { ${hooks} };
export default {
  [Symbol.for('${moduleHooksKey}')](namespace, sys) {
    globalSys.sys = sys;
    return {
      __describe_module__: () => new Uint8Array([1]),
      __call_reducer__() { for (let id = 1; id <= 3; id += 1) put(id, BigInt(id * 10)); },
      __call_view__: offered.view,
      __call_view_anon__: offered.anonymous,
      __sender_error_class__: SenderError,
    };
  },
};
`
    .replace('const view = () => new DataView', 'const scratchView = () => new DataView')
    .replaceAll('view().', 'scratchView().');
}

async function evaluate(
  body: string,
  sender?: bigint,
  hooks?: string,
): Promise<{ outcome: ViewOutcome; messages: string[]; rowCount: number }> {
  const { runner, store, logs, call } = await loadProgram(viewProgram(body, hooks));
  call(0);
  if (runner.callView === undefined) throw new Error('the runner has views');
  const outcome = runner.callView({
    hookId: viewHookId(4),
    viewName: 'under_test',
    sender: sender === undefined ? undefined : callerIdentity(sender),
  });
  const messages = logs.map(({ message, functionName }) => `${functionName}: ${message}`);
  return { outcome, messages, rowCount: store.table(accountTableId)?.rowCount ?? 0 };
}

async function messageOf(body: string): Promise<string> {
  const { outcome } = await evaluate(body);
  return outcome.kind === 'crashed' ? outcome.message : outcome.kind;
}

const noReads = { tables: new Set(), keys: new Map() };

describe('the view hooks', () => {
  it('[abi 3.2, 11.1] get id, sender and arguments; an anonymous view has no sender', async () => {
    const body = `console.log(id, String(sender), args instanceof Uint8Array, args.length);
      return rows(0, 0, 0, 0, 0);`;
    const { outcome, messages } = await evaluate(body, 0xabcn);
    expect(messages).toEqual(['under_test: 4 2748 true 0']);
    expect(outcome).toEqual({ kind: 'rows', rows: new Uint8Array(0), count: 0, reads: noReads });
    expect((await evaluate(body)).messages).toEqual(['under_test: 4 nobody true 0']);
  });

  it('[abi 3.4] return rows behind a header', async () => {
    const { outcome } = await evaluate('return rows(0, 2, 0, 0, 0, 7, 8);');
    expect(outcome).toMatchObject({ kind: 'rows', rows: new Uint8Array([7, 8]), count: 2 });
  });

  it('[abi 3.4] return an SQL text behind a header', async () => {
    const { outcome } = await evaluate('return rows(1, 2, 0, 0, 0, 104, 105);');
    expect(outcome).toMatchObject({ kind: 'sql', text: 'hi' });
  });

  it('[abi 3.4] return an object with data and nothing else', async () => {
    const text = 'must return an object whose data is a Uint8Array';
    for (const result of ['new Uint8Array(5)', 'undefined', '{ data: [0] }', '{}', '7', 'null']) {
      expect(await messageOf(`return ${result};`)).toContain(text);
    }
    expect(await messageOf('return { data: new DataView(new ArrayBuffer(5)) };')).toContain(text);
  });

  it('[abi 3.4] that return tricks are taken at the bytes that are there', async () => {
    const trap = 'Uncaught Error: do not look';
    expect(await messageOf("return { get data() { throw new Error('do not look'); } };")).toBe(
      trap,
    );
    expect(await messageOf('return { data: new Proxy(new Uint8Array(5), {}) };')).toContain('must');
    const { outcome } = await evaluate(`
      class Longer extends Uint8Array {
        get length() { return 1e9; }
        get byteLength() { return 1e9; }
      }
      const data = new Longer([0, 1, 0, 0, 0, 9]);
      Object.defineProperty(data, Symbol.iterator, { value: () => { throw new Error(); } });
      let reads = 0;
      return { get data() { reads += 1; return reads === 1 ? data : 'changed'; } };`);
    expect(outcome).toMatchObject({ kind: 'rows', count: 1, rows: new Uint8Array([9]) });
    expect(await messageOf('return { data: new Uint8Array(70 * 1024 * 1024) };')).toContain(
      'more than 67108864',
    );
  });

  it('[abi 3.4] that return half a header, or more than a text, fail', async () => {
    expect(await messageOf('return rows();')).toBe('the result of the view is cut short');
    expect(await messageOf('return rows(0, 1, 0);')).toBe('the result of the view is cut short');
    expect(await messageOf('return rows(1, 9, 0, 0, 0);')).toContain('cut short');
    expect(await messageOf('return rows(2);')).toContain('unknown tag');
    expect(await messageOf('return rows(1, 0, 0, 0, 0, 1);')).toContain('left over');
  });

  it('[abi 3.5] that throw are refused or crash', async () => {
    const refused = await evaluate("throw new SenderError('not you');");
    expect(refused.outcome).toEqual({ kind: 'refused', message: 'not you' });
    const crashed = await evaluate("throw new RangeError('oh');");
    expect(crashed.outcome).toMatchObject({ kind: 'crashed', message: 'Uncaught RangeError: oh' });
  });

  it('[abi 3.1] are looked up when a view is evaluated: older programs have none', async () => {
    const { outcome } = await evaluate('', undefined, '');
    expect(outcome).toMatchObject({
      kind: 'crashed',
      message:
        'Uncaught TypeError: Expected module function hook `__call_view_anon__`, got undefined',
    });
  });

  it('[abi 3.6] see no clock, and the same randomness every time', async () => {
    const { runner, logs } = await loadProgram(
      viewProgram(`console.log(Date.now(), Math.random()); return rows(0, 0, 0, 0, 0);`),
    );
    for (let turn = 0; turn < 2; turn += 1) {
      runner.callView?.({ hookId: viewHookId(0), viewName: 'v', sender: undefined });
    }
    const [first, second] = logs.map(({ message }) => message);
    expect(first).toContain(String(publishedMicros / 1000n));
    expect(second).toBe(first);
  });
});

describe('what a view does to the database', () => {
  const none = 'return rows(0, 0, 0, 0, 0);';

  it('[abi 8.3] is refused with 19 when it writes', async () => {
    const { messages, rowCount } = await evaluate(`
      const range = () => { scratchView().setUint8(0, 2); return 1; };
      console.log([put(9, 9n), change(1, 5n), sys.delete_equal(TABLE, 12), sys.clear(TABLE),
        sys.delete_point(BY_ID, 4), sys.delete_range(BY_BALANCE, 0, 0, range(), 1)].join());
      ${none}`);
    expect(messages).toEqual(['under_test: -19,-19,-19,-19,-19,-19']);
    expect(rowCount).toBe(3);
  });

  it('[abi 11.3] is recorded: whole tables', async () => {
    for (const read of [
      'sys.close(sys.scan(TABLE))',
      'sys.row_count(TABLE)',
      'scratchView().setUint8(0, 2); sys.close(sys.scan_range(BY_BALANCE, 0, 0, 1, 0))',
    ]) {
      const { outcome } = await evaluate(`${read}; find(2); ${none}`);
      const reads = { tables: new Set([accountTableId]), keys: new Map() };
      expect(outcome).toMatchObject({ reads });
    }
  });

  it('[abi 11.3] is recorded: keys, found or not', async () => {
    const { outcome, messages } = await evaluate(`
      console.log(String(find(2)), find(77));
      scratchView().setBigInt64(0, 30n, true);
      sys.close(sys.scan_point(BY_BALANCE, 8));
      scratchView().setUint32(0, 1, true);
      sys.close(sys.scan_point(BY_ID, 4));
      ${none}`);
    expect(messages).toEqual(['under_test: 20 -15']);
    const text = (...bytes: number[]) => keyText(Uint8Array.from(bytes), bytes.length);
    const byId = new Set([text(2, 0, 0, 0), text(77, 0, 0, 0), text(1, 0, 0, 0)]);
    expect(outcome).toMatchObject({ kind: 'rows' });
    if (outcome.kind !== 'rows') return;
    expect(outcome.reads.tables.size).toBe(0);
    expect(outcome.reads.keys.get(accountIdIndex)).toEqual(byId);
    expect([...(outcome.reads.keys.get(accountBalanceIndex) ?? [])]).toEqual([
      text(30, 0, 0, 0, 0, 0, 0, 0),
    ]);
  });

  it('[abi 11.3] counts as the whole table when it looks up very many keys', async () => {
    const { outcome } = await evaluate(`for (let id = 0; id < 1025; id += 1) find(id); ${none}`);
    const reads = { tables: new Set([accountTableId]), keys: new Map() };
    expect(outcome).toMatchObject({ reads });
  });

  it('[abi 11.3] is not recorded when refused: unknown ids, keys that are none', async () => {
    const { outcome, messages } = await evaluate(`
      console.log(sys.scan(1), sys.row_count(7), sys.find(BY_ID, 3), sys.scan_point(BY_ID, 5));
      ${none}`);
    expect(messages).toEqual(['under_test: -4 -4 -3 -3']);
    expect(outcome).toMatchObject({ reads: noReads });
  });

  it('[abi 11.3] is over when it returns: promise jobs reach no data', async () => {
    const { messages } = await evaluate(`
      Promise.resolve().then(() => console.log(sys.row_count(TABLE)));
      ${none}`);
    expect(messages).toEqual(['under_test: -2']);
  });
});
