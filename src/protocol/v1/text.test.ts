import { describe, expect, it } from 'vitest';
import { type RecordedMessages, recorded } from '../../../test/support/recorded-messages.ts';
import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { BinaryReader, DecodeError } from '../../values/binary-reader.ts';
import { encodeValue } from '../../values/encode.ts';
import { encodedToJson } from '../../values/json.ts';
import { product } from '../../values/special-types.ts';
import { emptyRowList, type RowList, rowListOf } from '../row-list.ts';
import {
  clientMessageFromText,
  clientMessageSteps,
  hasTooManyParts,
  type TextClientMessage,
} from './client-text.ts';
import { rowsText } from './rows-text.ts';
import {
  queryUpdateText,
  type RowTexts,
  serverMessageToText,
  type TextServerMessage,
} from './text.ts';

const { text_examples } = recorded<RecordedMessages>('messages-v1.json');
const textsFrom = (direction: 'client' | 'server') =>
  text_examples.filter((example) => example.direction === direction);

const person = product(['id', { kind: 'u32' }], ['name', { kind: 'string' }]);
const rowsIn = (shape: 'positional' | 'named'): RowTexts => ({
  list(_table, rows) {
    const text = rowsText(rows, (row) => encodedToJson(person, new BinaryReader(row), shape));
    return present(text, 'rows have no longest text');
  },
  written: ({ text }) => text,
  long: ({ pieces }) => [...pieces].join(''),
});
const positional = rowsIn('positional');
const named = rowsIn('named');

const identity = 0xc200a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7en;
const connectionId = 1339673755198158349044581307228491536n;

const query = 'SELECT * FROM person';
const messageId = Uint8Array.of(1, 2, 3, 4);

/** The messages of the recorded client texts, in order. */
const clientMessages: readonly TextClientMessage[] = [
  { kind: 'callReducer', reducer: 'add', args: '[2,"B"]', requestId: 1, notifySuccess: true },
  {
    kind: 'callReducer',
    reducer: 'add',
    args: '{"id":2,"name":"B"}',
    requestId: 2,
    notifySuccess: false,
  },
  { kind: 'subscribe', queries: [query], requestId: 3 },
  { kind: 'oneOffQuery', messageId, query },
  { kind: 'oneOffQuery', messageId, query },
  { kind: 'subscribeSingle', query, requestId: 5, queryId: 1 },
  { kind: 'subscribeMulti', queries: [query], requestId: 7, queryId: 3 },
  { kind: 'unsubscribe', requestId: 9, queryId: 1 },
  { kind: 'unsubscribeMulti', requestId: 11, queryId: 3 },
  { kind: 'callProcedure', procedure: 'sum', args: '[1,2]', requestId: 13 },
];

describe('[websocket 9] texts of clients', () => {
  it('are all there', () => {
    expect(textsFrom('client')).toHaveLength(clientMessages.length);
  });

  for (const [index, { message, note, text }] of textsFrom('client').entries()) {
    it(`${message} ${note}`, () => {
      expect(clientMessageFromText(text)).toEqual(clientMessages[index]);
    });
  }

  it('may have their fields in any order, by position, and variants by tag', () => {
    const expected = { kind: 'unsubscribe', requestId: 9, queryId: 1 };
    expect(clientMessageFromText('{"Unsubscribe":{"query_id":{"id":1},"request_id":9}}')).toEqual(
      expected,
    );
    expect(clientMessageFromText('[5,[9,[1]]]')).toEqual(expected);
  });

  it.each([
    ['', 'EOF while parsing a value at line 1 column 0'],
    ['{"Nope":{}}', 'Nope'],
    ['{"Unsubscribe":{"request_id":9}}', 'query_id'],
    ['{"Unsubscribe":{"more":1,"request_id":9,"query_id":{"id":1}}}', 'more'],
    ['{"Unsubscribe":{"request_id":9,"query_id":{"id":1},"more":1}}', 'trailing comma'],
    ['{"Unsubscribe":{"request_id":4294967296,"query_id":{"id":1}}}', '4294967296'],
    ['{"OneOffQuery":{"message_id":"0x01","query_string":""}}', '0x01'],
  ])('%s is refused', (text, part) => {
    expect(() => clientMessageFromText(text)).toThrow(DecodeError);
    expect(() => clientMessageFromText(text)).toThrow(part);
  });

  it('with flags that mean nothing are refused in the words of the binary form', () => {
    const call = (flags: number) =>
      `{"CallReducer":{"reducer":"add","args":"[]","request_id":1,"flags":${flags}}}`;
    expect(() => clientMessageFromText(call(2))).toThrow(/^invalid call reducer flag 2$/);
    const procedure = '{"CallProcedure":{"procedure":"sum","args":"[]","request_id":1,"flags":1}}';
    expect(() => clientMessageFromText(procedure)).toThrow(/^invalid call procedure flag 1$/);
  });

  it('with more parts than any message has are refused before they are parsed', () => {
    const many = `[${'[],'.repeat(limits.socketTextPartsMax)}[]]`;
    expect(() => clientMessageFromText(many)).toThrow('parts');
    const brackets = '[]{},:\\"'.repeat(limits.socketTextPartsMax);
    const text = JSON.stringify({ OneOffQuery: { message_id: '', query_string: brackets } });
    expect(clientMessageFromText(text)).toMatchObject({ query: brackets });
  });
});

describe('[websocket 9] texts of the server', () => {
  const examples = serverMessages();

  it('are all there', () => {
    expect(textsFrom('server')).toHaveLength(examples.length);
  });

  for (const [index, { message, note, text }] of textsFrom('server').entries()) {
    it(`${message} ${note}`, () => {
      const [example, texts] = present(examples[index], 'a message for each text');
      expect(serverMessageToText(example, texts)).toBe(text);
    });
  }

  it('take rows that were written once for many', () => {
    const update = { kind: 'plain', deletes: emptyRowList, inserts: rows([3, 'c']) } as const;
    const text = queryUpdateText('person', update, positional);
    const message = (part: typeof update | { kind: 'text'; text: string }): TextServerMessage => ({
      kind: 'transactionUpdateLight',
      requestId: 1,
      tables: [{ tableId: 1, table: 'person', rowCount: 1n, updates: [part] }],
    });
    expect(serverMessageToText(message({ kind: 'text', text }), positional)).toBe(
      serverMessageToText(message(update), positional),
    );
  });
});

function rows(...values: [number, string][]): RowList {
  return rowListOf(values.map((value) => encodeValue(person, value)));
}

function people(change: 'deletes' | 'inserts', ...values: [number, string][]) {
  const update = { kind: 'plain', deletes: emptyRowList, inserts: emptyRowList } as const;
  return {
    tableId: 4097,
    table: 'person',
    rowCount: BigInt(values.length),
    updates: [{ ...update, [change]: rows(...values) }],
  };
}

/** Returns the messages of the recorded server texts, in order, and the writer of their rows. */
function serverMessages(): [TextServerMessage, RowTexts][] {
  const queryId = 1;
  const update = {
    kind: 'transactionUpdate',
    timestamp: 2n,
    callerIdentity: identity,
    callerConnectionId: connectionId,
    call: { reducer: 'add', reducerId: 1, args: '[2,"B"]', requestId: 1 },
    energyUsed: 0n,
    durationMicros: 0n,
  } as const;
  const answer = { kind: 'oneOffQueryResponse', durationMicros: 10n } as const;
  const procedure = { kind: 'procedureResult', requestId: 13, timestamp: 5n } as const;
  const before = people('inserts', [1, 'a']);
  return [
    [{ kind: 'identityToken', identity, token: 'eyJ.a.b', connectionId }, named],
    [{ kind: 'initialSubscription', tables: [before], requestId: 3, durationMicros: 250n }, named],
    [
      {
        ...update,
        status: { kind: 'committed', tables: [people('inserts', [2, 'B'])] },
        timestamp: 1739788245123456n,
        energyUsed: 1234n,
        durationMicros: 99n,
      },
      positional,
    ],
    [{ ...update, status: { kind: 'failed', message: 'not allowed' } }, positional],
    [
      { ...update, status: { kind: 'outOfEnergy' }, call: { ...update.call, args: '[]' } },
      positional,
    ],
    [
      { kind: 'transactionUpdateLight', requestId: 0, tables: [people('deletes', [3, 'c'])] },
      positional,
    ],
    [
      {
        ...answer,
        messageId,
        error: undefined,
        tables: [{ table: 'person', rows: rows([1, 'a']) }],
      },
      named,
    ],
    [
      {
        ...answer,
        messageId: new Uint8Array(0),
        error: 'Unsupported: Non-SELECT queries',
        tables: [],
      },
      named,
    ],
    [{ kind: 'subscribeApplied', requestId: 5, durationMicros: 77n, queryId, rows: before }, named],
    [
      {
        kind: 'unsubscribeApplied',
        requestId: 9,
        durationMicros: 5n,
        queryId,
        rows: people('deletes', [1, 'a']),
      },
      named,
    ],
    [
      {
        kind: 'subscriptionError',
        durationMicros: 3n,
        requestId: 7,
        queryId: 3,
        tableId: undefined,
        error: 'boom',
      },
      named,
    ],
    ...multiAnswers(),
    [{ ...procedure, status: { kind: 'returned', value: '3' }, durationMicros: 1500n }, positional],
    [
      {
        ...procedure,
        status: { kind: 'internalError', message: 'No such procedure' },
        timestamp: 0n,
        durationMicros: 0n,
        requestId: 15,
      },
      positional,
    ],
  ];
}

function multiAnswers(): [TextServerMessage, RowTexts][] {
  const answer = { queryId: 3, tables: [] };
  return [
    [{ ...answer, kind: 'subscribeMultiApplied', requestId: 7, durationMicros: 77n }, named],
    [{ ...answer, kind: 'unsubscribeMultiApplied', requestId: 11, durationMicros: 2n }, named],
  ];
}

describe('a long text of a client', () => {
  function inSteps<Result>(steps: Generator<undefined, Result>): Result {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  function faultOf(read: () => unknown): unknown {
    try {
      read();
    } catch (error) {
      expect(error).toBeInstanceOf(DecodeError);
      return (error as DecodeError).message;
    }
    return undefined;
  }

  const long = JSON.stringify(`["${'\\"'.repeat(100_000)}\u00e9"]`);
  const call = `{"CallReducer":{"reducer":"f","args":${long},"request_id":7,"flags":0}}`;

  it('is read in steps as at once', () => {
    expect(inSteps(clientMessageSteps(call))).toEqual(clientMessageFromText(call));
    expect(Array.from(clientMessageSteps(call)).length).toBeGreaterThan(5);
  });

  it.each([
    ['unfinished', call.slice(0, -1)],
    ['of another shape', call.replace('flags', 'flag')],
    ['with flags that mean nothing', call.replace('"flags":0', '"flags":3')],
    ['of too many parts', `[${'1,'.repeat(limits.socketTextPartsMax + 1)}1]`],
    ['of a string that does not end', `"${'x,'.repeat(limits.socketTextPartsMax + 1)}`],
  ])('is refused in steps as at once: %s', (_, text) => {
    const fault = faultOf(() => clientMessageFromText(text));
    expect(fault).toBeDefined();
    expect(faultOf(() => inSteps(clientMessageSteps(text)))).toBe(fault);
  });

  it('has as many parts as there are values, wherever a step ends', () => {
    const text = `{"a":["${'\\",'.repeat(50_000)}",{"b,":1}]}`;
    expect(inSteps(hasTooManyParts(text, 6))).toBe(false);
    expect(inSteps(hasTooManyParts(text, 5))).toBe(true);
  });
});
