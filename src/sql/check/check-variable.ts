import { assert, present } from '../../assert.ts';
import { encodeValue } from '../../values/encode.ts';
import { resolveType } from '../../values/typespace.ts';
import type { Comparison, SetVariable, ShowVariable, Span } from '../syntax/ast.ts';
import { tableNamed } from './check-from.ts';
import type { WriteParts } from './check-write.ts';
import { type Environment, refuse, stringType, u64Type } from './context.ts';
import { columnsOfRelation } from './resolve-name.ts';
import { queryOf } from './row-security.ts';
import { columnsOfTable, type ScopeRelation } from './scope.ts';
import { typeCondition } from './type-expression.ts';
import { constant } from './type-literal.ts';
import { storedLiteral } from './type-stored.ts';
import type { TypedInsert, TypedQuery } from './typed.ts';

/** The table of system variables; its columns are the name and the value. */
export const variableTableName = 'st_var';
const rowLimitVariable = 'row_limit';

/** `SET row_limit = n` adds a row; a value that already exists is a unique violation. */
export function checkSetVariable(
  { variable, value, span }: SetVariable,
  environment: Environment,
): Omit<TypedInsert, keyof WriteParts> {
  requireVariable(variable, span, environment);
  const table = tableNamed({ name: variableTableName, span }, environment);
  const valueType = resolveType(
    present(table.columns[1], 'the value column of st_var').type,
    environment.statement.typespace,
  );
  assert(valueType.kind === 'sum', 'a system variable is of one of several types');
  const tag = valueType.variants.findIndex((variant) => variant.type.kind === 'u64');
  const number = storedLiteral(value, u64Type, environment);
  const bytes = Uint8Array.of(tag, ...present(number.bytes, 'a number'));
  const name = constant(stringType, encodeValue(stringType, variable));
  const rows = [[name, constant(valueType, bytes)]];
  const source = { kind: 'values', rows } as const;
  return { kind: 'insert', table, source, conflict: undefined, returning: undefined };
}

/** `SHOW row_limit` is `SELECT value FROM st_var WHERE name = 'row_limit'`. */
export function checkShowVariable(
  { variable, span }: ShowVariable,
  environment: Environment,
): TypedQuery {
  requireVariable(variable, span, environment);
  const table = tableNamed({ name: variableTableName, span }, environment);
  const slot = environment.statement.newSlot();
  environment.statement.tableSlots.add(slot);
  const name = variableTableName;
  const relation: ScopeRelation = { slot, name, columns: columnsOfTable(table), isNullable: false };
  const place = { ...environment, scope: { relations: [relation], outer: undefined } };
  const condition: Comparison = {
    kind: 'comparison',
    operator: '=',
    left: { kind: 'column', parts: ['name'], span },
    right: { kind: 'string', text: variable, span },
    span,
  };
  const value = present(columnsOfRelation(relation, place)[1], 'the value column of st_var');
  const body: TypedQuery['body'] = {
    kind: 'block',
    relations: [
      { slot, name, source: { kind: 'table', table }, security: undefined, isNullable: false },
    ],
    joins: [],
    where: typeCondition(condition, place),
    grouping: undefined,
    having: undefined,
    items: [value],
    isDistinct: false,
  };
  return queryOf(body, [{ name: 'value', type: value.type, isNullable: false }]);
}

function requireVariable(name: string, span: Span, environment: Environment): void {
  if (name === rowLimitVariable) return;
  throw refuse(`${name} is not a valid system variable`, span, environment);
}
