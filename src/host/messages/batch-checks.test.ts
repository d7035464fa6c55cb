import { describe, expect, it } from 'vitest';
import type { SqlParameter, SqlParameters } from '../../database/outcome.ts';
import {
  checkedReply,
  parseCallError,
  parseConnected,
  parseParameters,
  parseProcedureError,
  parseRefusal,
  parseResultHead,
  parseSqlError,
  parseUpdateHead,
} from './batch-checks.ts';

const message = 'x';
const product = { kind: 'product', elements: [{ name: 'a', type: { kind: 'u8' } }] };
const column = { name: 'a', type: { kind: 'array', element: { kind: 'ref', ref: 0 } } };
const unnamed = { type: { kind: 'sum', variants: [] } };
const definition = {
  ...{ tables: [], reducers: [], procedures: [], views: [], types: [], crons: [], env: [] },
  ...{ typespace: { types: [] }, submodules: [], httpHandlers: [], httpRoutes: [] },
};
const description = { definition, schemaVersion: 7, programHash: 'a'.repeat(64) };

const cases: readonly [string, (text: string) => unknown, object[], unknown[]][] = [
  [
    'the error of a call',
    parseCallError,
    [
      { code: 'reducer.crashed' },
      { code: 'reducer.unknown', reducer: 'r' },
      { code: 'reducer.notCallable', lifecycle: 'init' },
      { code: 'quota.exceeded', message },
    ],
    [
      ...[null, 'text', {}, { code: 'other', message }, { code: 'toString' }, { code: 7 }],
      { code: 'reducer.unknown', message },
      { code: 'reducer.notCallable', lifecycle: 'other' },
      { code: 'quota.exceeded', message: 7 },
      { code: 'reducer.refusedWithValue', message },
    ],
  ],
  [
    'the error of a procedure',
    parseProcedureError,
    [
      { code: 'procedure.failed', message },
      { code: 'procedure.unknown', procedure: 'p' },
      { code: 'procedure.busy', message, of: 'caller' },
      { code: 'schema.changed' },
    ],
    [
      ...[null, 'text', {}, { code: 'reducer.unknown', reducer: 'r' }, { code: 'toString' }],
      { code: 'procedure.failed' },
      { code: 'procedure.unknown', message },
      { code: 'procedure.busy', message },
      { code: 'procedure.busy', message, of: 'other' },
      { code: 'procedure.busy', of: 'caller' },
    ],
  ],
  [
    'the error of a statement',
    parseSqlError,
    [
      { code: 'sql.busy', message },
      { code: 'sql.noTable', message, table: 't', hint: 'h', place: { line: 1, column: 2 } },
    ],
    [
      ...[null, { message }, { code: 'sql.busy' }, { code: 'sql.noTable', message }],
      { code: 'sql.busy', message, hint: 7 },
      { code: 'sql.busy', message, place: { line: 1 } },
    ],
  ],
  [
    'a refusal',
    parseRefusal,
    [
      { code: 'database.full', message },
      { code: 'database.opening', message, retryAfterSeconds: 3 },
    ],
    [
      null,
      { code: 'other', message },
      { code: 'caller.notOperator' },
      { code: 'caller.notOperator', message: 7 },
    ],
  ],
  ['the answer to a connection', parseConnected, [{}, { refusal: 'no' }], [null, { refusal: 7 }]],
  [
    'the columns of a result',
    parseResultHead,
    [
      { columns: [], types: [] },
      { columns: [column, unnamed], types: [product] },
    ],
    [
      ...[null, {}, { columns: [] }, { columns: {}, types: [] }],
      { columns: [{ name: 7, type: product }], types: [] },
      { columns: [{ name: 'a', type: { kind: 'other' } }], types: [] },
      { columns: [{ name: 'a', type: { kind: 'ref' } }], types: [] },
      { columns: [], types: [{ kind: 'product', elements: [{ name: 'a' }] }] },
    ],
  ],
  [
    'an update',
    parseUpdateHead,
    [
      ['js', { policy: 'breakClients', token: 't' }, false],
      ['js', { policy: 'compatible' }, true],
    ],
    [
      ...[null, [], ['py', { policy: 'compatible' }, false], ['js', { policy: 'all' }, false]],
      ['js', { policy: 'compatible' }],
    ],
  ],
];

describe('a batch', () => {
  it.each(cases)('has %s in its shape only', (_, parse, right, wrong) => {
    for (const json of right) expect(parse(JSON.stringify(json))).toEqual(json);
    for (const json of wrong) expect(() => parse(JSON.stringify(json))).toThrow('invalid ');
    expect(() => parse('{')).toThrow(SyntaxError);
  });

  it('has parameters by their names', () => {
    const parameters: SqlParameters = new Map<string, SqlParameter | readonly SqlParameter[]>([
      ['1', 'a'],
      ['b', true],
      ['c', null],
      ['d', []],
      ['e', ['1', null, true]],
    ]);
    expect(parseParameters(JSON.stringify([...parameters]))).toEqual(parameters);
    for (const wrong of [null, [['a']], [[7, 'a']], [['a', 7]], [['a', [7]]], [['a', [[]]]]]) {
      expect(() => parseParameters(JSON.stringify(wrong))).toThrow('invalid parameters');
    }
  });

  it('has structured replies of known kinds', () => {
    const updated = { kind: 'updated', description, endsConnections: true, ended: [3n] };
    const previewed = { kind: 'previewed', outcome: { kind: 'refused', message, micros: 1 } };
    const outcomes = [
      { kind: 'listed', schedules: [{ name: 'jobs' }] },
      { kind: 'applied', names: ['jobs'] },
      ...[{ kind: 'unknown' }, { kind: 'paused' }],
    ];
    const asked = outcomes.map((outcome) => ({ kind: 'schedules', outcome }));
    const wrongOutcomes = [
      ...[undefined, 'listed', { kind: 'other' }, { kind: 'toString' }],
      ...[{ kind: 'listed' }, { kind: 'listed', schedules: ['jobs'] }],
      ...[{ kind: 'applied' }, { kind: 'applied', names: [7] }],
    ];
    const handler = { name: 'board', sourceName: 'board', auth: 'required' };
    const route = { handler: 'board', method: 'GET', path: '/board/:id' };
    const served = { ...definition, httpHandlers: [handler], httpRoutes: [route] };
    const routed = { ...updated, description: { ...description, definition: served } };
    const wrongRoutes = [
      ...[undefined, {}, [undefined], [{}]].map((httpRoutes) => ({ httpRoutes })),
      ...[{ handler: 7 }, { method: null }, { path: 7 }, { path: 'x'.repeat(1_025) }].map(
        (parts) => ({ httpRoutes: [{ ...route, ...parts }] }),
      ),
      { httpRoutes: Array.from({ length: 1_025 }, () => route) },
      ...[undefined, {}, [{}], [{ ...handler, auth: 'toString' }], [{ ...handler, name: 7 }]].map(
        (httpHandlers) => ({ httpHandlers }),
      ),
    ];
    for (const right of [updated, routed, previewed, { kind: 'tables', tables: [] }, ...asked]) {
      expect(checkedReply(right)).toBe(right);
    }
    for (const wrong of [
      ...[undefined, 'text', { kind: 'called' }, { kind: 'reading', queries: [] }],
      { ...updated, endsConnections: 1 },
      { ...updated, ended: undefined },
      { ...updated, ended: [3] },
      { ...updated, description: { ...description, definition: null } },
      { ...updated, description: { ...description, schemaVersion: -1 } },
      { ...updated, description: { ...description, programHash: 'a' } },
      { kind: 'previewed', outcome: 'none' },
      { ...updated, description: { ...description, definition: { ...definition, crons: {} } } },
      ...wrongRoutes.map((parts) => {
        return {
          ...updated,
          description: { ...description, definition: { ...definition, ...parts } },
        };
      }),
      { kind: 'tables', tables: {} },
      ...wrongOutcomes.map((outcome) => ({ kind: 'schedules', outcome })),
    ]) {
      expect(() => checkedReply(wrong)).toThrow('invalid reply');
    }
  });

  it('has the steps of exports and imports', () => {
    const begun = {
      ...{ kind: 'begun', id: 1, position: 'a.1.b', programHash: 'a', types: { types: [] } },
      tables: [{ name: 't', columns: [column] }],
    };
    const failed = { kind: 'failed', error: { code: 'export.tooMany', message } };
    const fault = { row: 0, column: null, message };
    const imported = { kind: 'imported', offset: 7, faults: [fault] };
    const refused = { kind: 'failed', error: { code: 'quota.exceeded', message } };
    const rightExports = [begun, { kind: 'ended' }, failed];
    const rightImports = [
      imported,
      { kind: 'there', offset: 7 },
      { kind: 'stopped', fault },
      refused,
    ];
    const replies = (kind: string, outcomes: readonly unknown[]) =>
      outcomes.map((outcome) => ({ kind, outcome }));
    for (const right of [
      ...replies('exported', rightExports),
      ...replies('imported', rightImports),
    ]) {
      expect(checkedReply(right)).toBe(right);
    }
    const wrongExports = [
      ...[undefined, {}, { kind: 'rows' }, { ...begun, id: -1 }, { ...begun, tables: [{}] }],
      ...[{ ...begun, types: {} }, { ...begun, types: { types: [{ kind: 'other' }] } }, refused],
      { ...begun, tables: [{ name: 't', columns: [{ name: 'a', type: 7 }] }] },
    ];
    const wrongImports = [
      ...[undefined, {}, { ...imported, faults: [{}] }, { kind: 'stopped' }, failed],
      ...[
        { ...imported, offset: 'x' },
        { kind: 'stopped', fault: { ...fault, column: 7 } },
      ],
    ];
    for (const wrong of [
      ...replies('exported', wrongExports),
      ...replies('imported', wrongImports),
    ]) {
      expect(() => checkedReply(wrong)).toThrow('invalid reply');
    }
  });
});
