import { describe, expect, it } from 'vitest';
import {
  argumentsFromJson,
  argumentsFromLooseJson,
  JsonObject,
  parseJson,
  UnfitJsonError,
} from './json.ts';
import { argumentsFaultText } from './json-explain.ts';
import type { FilledTypespace } from './json-loose.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from './special-types.ts';
import type { AlgebraicType, ProductType, Typespace } from './type.ts';
import type { Value } from './value.ts';

const u8: AlgebraicType = { kind: 'u8' };
const u32: AlgebraicType = { kind: 'u32' };
const u64: AlgebraicType = { kind: 'u64' };
const string: AlgebraicType = { kind: 'string' };
const list = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const status = sum(['todo', unitType], ['inProgress', unitType], ['done', unitType]);
const message = sum(['text', string], ['nothing', unitType]);
const line = product(['order_id', u64], ['qty', u32], ['note', optionType(string)]);
const types: Typespace = { types: [status, message, line] };
const names = ['TicketStatus', 'Message', 'Line'];
const ref = (at: number): AlgebraicType => ({ kind: 'ref', ref: at });
const some = (value: Value) => ({ tag: 0, value });
const none = { tag: 1, value: [] };

function read(type: AlgebraicType, text: string): Value | undefined {
  return argumentsFromLooseJson(product(['x', type]), parseJson(`[${text}]`), 'f', types)[0];
}

/** The text for arguments that do not fit. */
function fault(params: ProductType, text: string): string {
  const json = parseJson(text);
  try {
    argumentsFromLooseJson(params, json, 'f', types);
  } catch (error) {
    if (!(error instanceof UnfitJsonError)) throw error;
    return argumentsFaultText(error, params, json, {
      typespace: types,
      nameOf: (at) => names[at],
    });
  }
  throw new Error(`${text} fits`);
}

describe('[ease 1.1] integers of 64 bits and more', () => {
  it.each<[AlgebraicType['kind'], string, bigint]>([
    ['u64', '7', 7n],
    ['u64', '"7"', 7n],
    ['u64', '9007199254740993', 9007199254740993n],
    ['i64', '"-9007199254740993"', -9007199254740993n],
    ['u128', `"${2n ** 127n}"`, 2n ** 127n],
    ['i256', `"-${2n ** 255n}"`, -(2n ** 255n)],
    ['u256', '"0x10"', 16n],
    ['u256', '16', 16n],
    ['u256', '"16"', 16n],
  ])('%s is read from %s', (kind, text, value) => {
    expect(read({ kind } as AlgebraicType, text)).toBe(value);
  });

  it.each<[AlgebraicType['kind'], string, string]>([
    ['u64', '1.0', '1.0 is not an integer (U64); write 1'],
    ['u64', '1e3', '1e3 is not an integer (U64); write 1000'],
    ['u64', '"1.0"', '"1.0" is not an integer (U64); expected a whole number, e.g. 42'],
    ['u64', '"07"', '"07" is not an integer (U64); expected a whole number, e.g. 42'],
    ['u64', '-1', '-1 is out of range for U64, 0 to 18446744073709551615'],
    ['u8', '256', '256 is out of range for U8, 0 to 255'],
    ['u32', '"5"', '"5" is not an integer (U32); write 5'],
    ['i256', '1.5', '1.5 is not an integer (I256); expected a whole number, e.g. 42'],
  ])('%s refuses %s', (kind, text, words) => {
    expect(fault(product(['x', { kind } as AlgebraicType]), `[${text}]`)).toBe(
      `[0] \`x\`: ${words}`,
    );
  });
});

describe('[ease 1.2] sums', () => {
  it.each<[AlgebraicType, string, Value]>([
    [status, '"done"', { tag: 2, value: [] }],
    [status, '"Done"', { tag: 2, value: [] }],
    [status, '"in_progress"', { tag: 1, value: [] }],
    [status, '"InProgress"', { tag: 1, value: [] }],
    [status, '"IN PROGRESS"', { tag: 1, value: [] }],
    [status, '{"done":[]}', { tag: 2, value: [] }],
    [status, '{"Done":{}}', { tag: 2, value: [] }],
    [status, '{"tag":"Done"}', { tag: 2, value: [] }],
    [status, '[2,[]]', { tag: 2, value: [] }],
    [status, '["Done",[]]', { tag: 2, value: [] }],
    [message, '{"text":"hi"}', some('hi')],
    [message, '{"Text":"hi"}', some('hi')],
    [message, '{"tag":"Text","value":"hi"}', some('hi')],
    [message, '{"value":"hi","tag":"text"}', some('hi')],
    [message, '{"tag":"nothing","value":{}}', none],
    [message, '"nothing"', none],
    [sum(['ab', unitType], ['aB', unitType]), '"aB"', none],
    [sum(['tag', string], ['x', unitType]), '{"tag":"x"}', some('x')],
    [sum(['a', unitType], ['0', unitType]), '"0"', none],
    [sum(['a', unitType], ['0', unitType]), '{"0":[]}', some([])],
    [sum(['a', unitType], ['0', unitType]), '["0",[]]', some([])],
    [scheduleAtType, '{"Interval":"1h"}', some([3_600_000_000n])],
    [scheduleAtType, '{"time":"1970-01-01T00:00:00Z"}', { tag: 1, value: [0n] }],
    [ref(0), '"done"', { tag: 2, value: [] }],
  ])('%o is read from %s', (type, text, value) => {
    expect(read(type, text)).toEqual(value);
  });

  it('a name that could be either of two is neither', () => {
    const type = sum(['ab', unitType], ['aB', unitType]);
    expect(fault(product(['x', type]), '["AB"]')).toContain('"AB" is not a variant');
  });
});

describe('[ease 1.3] options', () => {
  it.each<[AlgebraicType, string, Value]>([
    [optionType(u8), '5', some(5)],
    [optionType(u8), 'null', none],
    [optionType(u8), '{"some":5}', some(5)],
    [optionType(u8), '[0,5]', some(5)],
    [optionType(u8), '{"none":[]}', none],
    [optionType(string), '"none"', some('none')],
    [optionType(status), '"done"', some({ tag: 2, value: [] })],
    [optionType(message), '{"text":"hi"}', some(some('hi'))],
    [optionType(list(u8)), '"0a"', some(Uint8Array.of(10))],
    [optionType(list(u32)), '[0,5]', some([0, 5])],
    [optionType(list(u32)), '[0,[5]]', some([5])],
    [optionType(line), '{"qty":1,"orderId":2}', some([2n, 1, none])],
    [optionType(product(['some', u8])), '{"some":5}', some([5])],
    [optionType(product(['some', u8])), '{"some":{"some":5}}', some([5])],
    [optionType(optionType(u8)), '{"some":5}', some(some(5))],
    [optionType(optionType(u8)), '{"some":null}', some(none)],
    [optionType(optionType(u8)), 'null', none],
  ])('%o is read from %s', (type, text, value) => {
    expect(read(type, text)).toEqual(value);
  });

  it('an option of an option needs the long form', () => {
    const params = product(['x', optionType(optionType(u8))]);
    expect(fault(params, '[5]')).toBe(
      '[0] `x`: 5 is not an option of an option; e.g. {"some":42} or null',
    );
  });
});

describe('[ease 1.4] ids, times and bytes', () => {
  const identity = `c200${'0'.repeat(59)}a`;
  const connection = `${'0'.repeat(31)}a`;
  it.each<[AlgebraicType, string, Value]>([
    [identityType, `"${identity}"`, [BigInt(`0x${identity}`)]],
    [identityType, `"0x${identity.toUpperCase()}"`, [BigInt(`0x${identity}`)]],
    [identityType, `["0x${identity}"]`, [BigInt(`0x${identity}`)]],
    [connectionIdType, `"${connection}"`, [10n]],
    [connectionIdType, `"0x${connection}"`, [10n]],
    [timestampType, '"1970-01-01T01:00:00+01:00"', [0n]],
    [timestampType, '"2025-02-17T10:30:45.5Z"', [1_739_788_245_500_000n]],
    [timestampType, '-5', [-5n]],
    [timestampType, '"5"', [5n]],
    [timestampType, '{"__timestamp_micros_since_unix_epoch__":5}', [5n]],
    [timeDurationType, '"1h30m"', [5_400_000_000n]],
    [timeDurationType, '"1.5s"', [1_500_000n]],
    [timeDurationType, '"-250us"', [-250n]],
    [timeDurationType, '"2d"', [172_800_000_000n]],
    [timeDurationType, '"1,5ms"', [1_500n]],
    [timeDurationType, '"PT1H30M"', [5_400_000_000n]],
    [timeDurationType, '"P1DT0.5S"', [86_400_500_000n]],
    [timeDurationType, '"-P2W"', [-1_209_600_000_000n]],
    [timeDurationType, '250', [250n]],
    [timeDurationType, '"250"', [250n]],
    [uuidType, '"00000000-0000-0000-0000-00000000000A"', [10n]],
    [bytesType, '"00fF"', Uint8Array.of(0, 255)],
    [bytesType, '[0,255]', Uint8Array.of(0, 255)],
    [{ kind: 'f64' }, '"-Infinity"', -Infinity],
  ])('%o is read from %s', (type, text, value) => {
    expect(read(type, text)).toEqual(value);
  });

  it.each<[AlgebraicType, string, string]>([
    [timestampType, '"2026-01-31 12:00"', 'write "2026-01-31T12:00:00Z"'],
    [timestampType, '"2026-02-01T08:00:00"', 'write "2026-02-01T08:00:00Z"'],
    [timestampType, '"2026-02-01"', 'write "2026-02-01T00:00:00Z"'],
    [timeDurationType, '1.5', 'write "1.5s"'],
    [timeDurationType, '"P1Y"', 'e.g. "1h30m"'],
    [timeDurationType, '"1.5us"', '"1.5us" is not a duration'],
    [timeDurationType, '""', '"" is not a duration'],
    [timeDurationType, '"PT"', '"PT" is not a duration'],
    [timeDurationType, '"P"', '"P" is not a duration'],
    [identityType, '"0x12"', '"0x12" is not an identity of 64 hexadecimal digits; e.g. "c200'],
    [bytesType, '"0x00ff"', 'write "00ff"'],
    [bytesType, '[1,256]', '[0] `x`[1]: 256 is out of range for U8, 0 to 255'],
    [uuidType, '"x"', '"x" is not a UUID; e.g. "01888d6e-'],
    [timestampType, '9223372036854775808', '9223372036854775808 is not a time'],
  ])('%o refuses %s', (type, text, words) => {
    expect(fault(product(['x', type]), `[${text}]`)).toContain(words);
  });
});

describe('[ease 1.5] products and arguments', () => {
  const params = product(['orderId', u64], ['state', ref(0)], ['note', optionType(string)]);
  const call = (text: string) => argumentsFromLooseJson(params, parseJson(text), 'f', types);
  const row = [7n, { tag: 2, value: [] }, none];

  it.each([
    '[7,"done",null]',
    '{"orderId":7,"state":"done","note":null}',
    '{"STATE":{"done":[]},"order-id":"7","note":null}',
  ])('%s are the same arguments', (text) => {
    expect(call(text)).toEqual(row);
  });

  it.each(['[7,"done"]', '{"state":"done","order_id":7}'])(
    '[ease 2.3] %s are so without the option',
    (text) => {
      expect(call(text)).toEqual(row);
    },
  );

  it('[ease 2.3] a parameter behind an option is needed', () => {
    const params = product(['a', optionType(u8)], ['b', u8]);
    expect(fault(params, '[null]')).toContain('the parameter `b` is missing');
    expect(argumentsFromLooseJson(params, parseJson('{"b":1}'), 'f')).toEqual([none, 1]);
  });

  it.each<[string, string]>([
    [
      '{"order_ids":7,"state":"done"}',
      'there is no parameter `order_ids`; ' +
        'did you mean `orderId`? the parameters are `orderId`, `state`, `note`',
    ],
    [
      '{"state":"done"}',
      'the parameter `orderId` is missing; add it, e.g. {"state":"done","orderId":42}',
    ],
    ['{"orderId":1,"order_id":1,"state":"done"}', 'the parameter `orderId` is given twice'],
    [
      '[7]',
      'the parameter `state` is missing: ' +
        '1 value was given for 3 parameters; add it, e.g. [7,"todo"]',
    ],
    ['[7,"done",null,1]', '4 values were given for 3 parameters; e.g. [7,"done",null]'],
    ['7', '7 is not a list of arguments; e.g. [7,"todo"]'],
  ])('%s is refused', (text, words) => {
    expect(fault(params, text)).toBe(words);
  });
});

describe('[ease 1.6] the text of a refusal', () => {
  const params = product(
    ['id', u32],
    ['status', ref(0)],
    ['lines', list(ref(2))],
    ['message', optionType(ref(1))],
  );
  const good = { id: '1', status: '"done"', lines: '[]', message: 'null' };
  const text = (changed: Partial<typeof good>) => {
    const { id, status, lines, message } = { ...good, ...changed };
    return `[${id},${status},${lines},${message}]`;
  };

  it.each<[Partial<typeof good>, string]>([
    [
      { status: '"don"' },
      '[1] `status`: "don" is not a variant of TicketStatus; ' +
        'one of "todo", "inProgress", "done" (exact: "done")',
    ],
    [
      { status: '"x"' },
      '[1] `status`: "x" is not a variant of TicketStatus; one of "todo", "inProgress", "done"',
    ],
    [
      { status: '5' },
      '[1] `status`: 5 is not a variant of TicketStatus; one of "todo", "inProgress", "done"',
    ],
    [{ status: '{"done":5}' }, '[1] `status`.done: 5 is not an object; write []'],
    [{ id: '"x"' }, '[0] `id`: "x" is not an integer (U32); expected a whole number, e.g. 42'],
    [{ id: 'null' }, '[0] `id`: null is not an integer (U32); expected a whole number, e.g. 42'],
    [
      { lines: '[[1,2,null],[1,"3",null]]' },
      '[2] `lines`[1].qty: "3" is not an integer (U32); write 3',
    ],
    [
      { lines: '[{"orderId":"x","qty":1}]' },
      '[2] `lines`[0].order_id: "x" is not an integer (U64); expected a whole number, e.g. 42',
    ],
    [
      { lines: '[{"qty":1}]' },
      '[2] `lines`[0]: the field `order_id` is missing; add it, e.g. {"qty":1,"order_id":42}',
    ],
    [
      { lines: '[{"qt":1,"orderId":1}]' },
      '[2] `lines`[0]: there is no field `qt`; ' +
        'did you mean `qty`? the fields are `order_id`, `qty`, `note`',
    ],
    [{ lines: '5' }, '[2] `lines`: 5 is not a list; e.g. [{"order_id":42,"qty":42,"note":"text"}]'],
    [
      { lines: '[5]' },
      '[2] `lines`[0]: 5 is not Line; e.g. {"order_id":42,"qty":42,"note":"text"}',
    ],
    [{ lines: '[[1,2,5]]' }, '[2] `lines`[0].note: 5 is not a string; write "5"'],
    [{ message: '{"text":5}' }, '[3] `message`.text: 5 is not a string; write "5"'],
    [{ message: '"text"' }, '[3] `message`: "text" of Message is written {"text":"text"}'],
    [
      { message: '"txt"' },
      '[3] `message`: "txt" is not a variant of Message; ' +
        'one of {"text":"text"} (exact: "text"), "nothing"',
    ],
  ])('%j', (changed, words) => {
    expect(fault(params, text(changed))).toBe(words);
    // It has a form that works, which a client could apply literally.
    const form = /(?:; write|e\.g\.) (.*)$/.exec(words)?.[1];
    if (form !== undefined) expect(() => parseJson(form)).not.toThrow();
  });

  it.each<[string, string]>([
    [
      '{"room":"a","startsAt":0,"length":"1h"}',
      '{"room":"a","startsAt":0,"length":"1h","labels":["text"]}',
    ],
    [
      '{"LABELS":["x"],"room":"a","starts_at":0}',
      '{"LABELS":["x"],"room":"a","starts_at":0,"length":"1h30m"}',
    ],
    ['["a",0,"1h"]', '["a",0,"1h",null,["text"]]'],
    ['["a",0,"1h",{"some":"x"}]', '["a",0,"1h",{"some":"x"},["text"]]'],
    ['[]', '["text","2026-01-31T12:00:00Z","1h30m",null,["text"]]'],
    ['"a"', '["a","2026-01-31T12:00:00Z","1h30m",null,["text"]]'],
    [
      `{"room":"${'a'.repeat(101)}","startsAt":0,"length":"1h"}`,
      '{"room":…,"startsAt":0,"length":"1h","labels":["text"]}',
    ],
  ])('%s is completed in the form in which it came', (given, form) => {
    const booking = product(
      ['room', string],
      ['startsAt', timestampType],
      ['length', timeDurationType],
      ['note', optionType(string)],
      ['labels', list(string)],
    );
    const words = fault(booking, given);
    expect(words.slice(words.indexOf('e.g. ') + 5)).toBe(form);
    if (!form.includes('…')) {
      expect(argumentsFromLooseJson(booking, parseJson(form), 'f')).toHaveLength(5);
    }
    expect(words).not.toContain('`note`');
  });

  it('shows only what is missing where what came is long', () => {
    const words = Array.from(
      { length: 9 },
      (_, at) => [`p${at}`, string] as [string, AlgebraicType],
    );
    const many = product(...words, ['last', u32]);
    const given = Object.fromEntries(words.map(([name]) => [name, 'a'.repeat(90)]));
    expect(fault(many, JSON.stringify(given))).toBe(
      'the parameter `last` is missing; add it, e.g. {…,"last":42}',
    );
    expect(fault(many, JSON.stringify(Object.values(given)))).toContain('add it, e.g. […,42]');
  });

  it('writes a value only if it was meant: another one acts on other data', () => {
    for (const came of ['2.5', 'true', 'null', '"abc"', '"2.5"', '[]']) {
      const words = fault(product(['id', u64]), `[${came}]`);
      expect(words).toContain('expected a whole number, e.g. 42');
      expect(words).not.toContain('write');
    }
    expect(fault(product(['id', u64]), '[2.0]')).toContain('write 2');
    expect(fault(product(['id', u32]), '["2"]')).toContain('write 2');
  });

  it('never holds more than a little of what came', () => {
    const long = 'x'.repeat(100_000);
    for (const json of [`"${long}"`, `["${long}"]`, `{"${long}":1}`, '9'.repeat(10_000)]) {
      expect(fault(product(['x', ref(0)], ['y', u32]), `[${json},1]`).length).toBeLessThan(400);
    }
  });

  it('ends for types that contain themselves, and for values that are too deep', () => {
    const node = product(['left', ref(0)], ['right', ref(0)]);
    const tree: Typespace = { types: [sum(['node', node], ['pair', node])] };
    const params = product(['tree', ref(0)]);
    const text = (json: ReturnType<typeof parseJson>) => {
      try {
        return argumentsFromLooseJson(params, json, 'f', tree);
      } catch (error) {
        const types = { typespace: tree, nameOf: () => 'Tree' };
        return argumentsFaultText(error as UnfitJsonError, params, json, types);
      }
    };
    expect(text(parseJson('[5]'))).toMatch(/^\[0\] `tree`: 5 is not a variant of Tree; one of /);
    let deep = parseJson('5');
    for (let level = 0; level < 70; level += 1) {
      deep = JsonObject.of(['node', JsonObject.of(['left', deep])]);
    }
    expect(text([deep])).toMatch(/: it is nested deeper than 128 levels$/);
  });
});

describe('[ease 2.3] an object without what is filled in', () => {
  const task = product(
    ['id', u64],
    ['note', optionType(string)],
    ['title', string],
    ['status', ref(0)],
  );
  const filled: FilledTypespace = {
    types: [status, task],
    leftOut: new Map([[task, [parseJson('0'), undefined, undefined, 'todo']]]),
  };
  const params = product(['task', ref(1)], ['more', list(ref(1))]);
  const outcome = (text: string) => {
    const json = parseJson(text);
    try {
      return argumentsFromLooseJson(params, json, 'f', filled);
    } catch (error) {
      const readTypes = { typespace: filled, nameOf: () => 'Task' };
      return argumentsFaultText(error as UnfitJsonError, params, json, readTypes);
    }
  };
  const todo = { tag: 0, value: [] };

  it('is whole, wherever it is', () => {
    expect(outcome('{"task":{"title":"a"},"more":[{"Title":"b","id":7},{"title":"c"}]}')).toEqual([
      [0n, none, 'a', todo],
      [
        [7n, none, 'b', todo],
        [0n, none, 'c', todo],
      ],
    ]);
  });

  it('is refused by the name of what it lacks besides', () => {
    expect(outcome('{"task":{},"more":[]}')).toBe(
      '[0] `task`: the field `title` is missing; add it, e.g. {"title":"text"}',
    );
    expect(outcome('{"task":{"title":"a","id":"x"},"more":[]}')).toContain('[0] `task`.id: "x"');
    expect(outcome('{"task":{"titel":"a"},"more":[]}')).toContain('did you mean `title`?');
  });

  it('is no array: that has every column', () => {
    expect(outcome('[["a"],[]]')).toContain('[0] `task`.id: "a" is not an integer');
    expect(outcome('[[0],[]]')).toContain('the field `title` is missing');
    expect(outcome('[[0,null,"a"],[]]')).toContain('the field `status` is missing');
    expect(outcome('[[0,null,"a","done"],[]]')).toMatchObject([[0n, none, 'a', { tag: 2 }], []]);
  });

  it('is filled in no other type of that shape', () => {
    const same: FilledTypespace = { types: [status, { ...task }], leftOut: filled.leftOut };
    expect(() =>
      argumentsFromLooseJson(params, parseJson('[{"title":"a"},[]]'), 'f', same),
    ).toThrow(UnfitJsonError);
  });
});

it('[ease 1.2] reads everything as the exact reader does, where that reads anything', () => {
  const params = product(
    ['a', ref(0)],
    ['b', optionType(u8)],
    ['c', list(ref(2))],
    ['d', identityType],
  );
  for (const text of [
    '[[0,[]],[0,1],[[1,2,[1,[]]]],["0x1"]]',
    '{"a":{"0":[]},"b":{"none":{}},"c":[],"d":{"__identity__":"0x1"}}',
    '[{"todo":{}},null,[{"note":null,"qty":1,"order_id":3}],["0x0"]]',
  ]) {
    const json = parseJson(text);
    expect(argumentsFromLooseJson(params, json, 'f', types)).toEqual(
      argumentsFromJson(params, json, 'f', types),
    );
  }
});

it('[ease 2.3] a short text stands for a bounded number of values that it leaves out', () => {
  const wide = product(
    ...Array.from({ length: 1_000 }, (_, at) => [`c${at}`, optionType(u8)] as const),
  );
  const rows = (count: number) => `[${Array.from({ length: count }, () => '{}').join()}]`;
  expect(read(list(wide), rows(16))).toHaveLength(16);
  expect(() => read(list(wide), rows(17))).toThrow(
    'rows leave out more than 16384 values in all; write them, or fewer rows',
  );
  // The next text has as many again.
  expect(read(list(wide), rows(16))).toHaveLength(16);
});
