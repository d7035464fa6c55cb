import { plainLanguage } from '../../schema/languages.ts';
import { findFunction } from '../functions/library.ts';
import {
  rankFunction,
  statisticsAggregate,
  statisticsParts,
  statisticsType,
} from '../functions/text-statistics.ts';
import { encodeQueryValue } from '../functions/value-codec.ts';
import { scalarTypes } from '../functions/value-kind.ts';
import type { ValueType } from '../functions/value-type.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { type Environment, refuse, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { secured } from './row-security.ts';
import type { ScopeRelation } from './scope.ts';
import { shownType } from './shown-type.ts';
import { relationOfSlot } from './text-language.ts';
import { packed } from './type-aggregate.ts';
import { typeAlone, typeOpen } from './type-expression.ts';
import { constant, isOpen } from './type-literal.ts';
import type { TypedBlock, TypedExpression, TypedRelation } from './typed.ts';
import { mapExpression, needsOf, queryOf, type TypedSubquery } from './typed-expression.ts';
import { readsRows } from './written.ts';

/**
 * `rank(text, query [, language])`: the text compared with that of all rows of its table that the
 * caller can read. These are counted once for the statement, by a query of their own.
 */
export function typeRank(call: Call, environment: Environment): TypedExpression {
  const [writtenText, writtenQuery, writtenLanguage, fourth] = call.arguments;
  if (writtenText === undefined || writtenQuery === undefined || fourth !== undefined) {
    throw misused(call, environment);
  }
  const others = writtenLanguage === undefined ? [writtenQuery] : [writtenQuery, writtenLanguage];
  for (const argument of others) {
    if (!readsRows(argument)) continue;
    const message = 'The query and the language of `rank` must be the same for all rows';
    throw refuse(message, argument.span, environment);
  }
  const text = typeText(writtenText, call, environment);
  const query = typeText(writtenQuery, call, environment);
  const language =
    writtenLanguage === undefined
      ? constant(stringType, encodeQueryValue(stringType, plainLanguage))
      : typeText(writtenLanguage, call, environment);
  const statistics = statisticsOf([text, query, language], call, environment);
  const given = [text, query, language, statistics];
  const isNullable = given.some((argument) => argument.isNullable);
  const type = scalarTypes.f64;
  return { kind: 'call', function: rankFunction, arguments: given, type, isNullable };
}

function typeText(written: Expression, call: Call, environment: Environment): TypedExpression {
  if (isOpen(written)) return typeOpen(written, stringType, environment);
  const typed = unwrapped(typeAlone(written, environment), environment);
  if (typed.type.kind === 'string') return typed;
  throw misused(call, environment, shownType(typed.type, environment.statement.typespace));
}

function misused(call: Call, environment: Environment, type?: string): Error {
  const signatures = findFunction('rank')?.signatures.join('; ');
  const given = type === undefined ? `${call.arguments.length} arguments` : type;
  const message = `The function \`rank\` does not accept ${given}. It is: ${signatures}`;
  return refuse(message, call.span, environment);
}

type Given = readonly [text: TypedExpression, query: TypedExpression, language: TypedExpression];

/** A query for the statistics of the table that the text is of; it depends on no row. */
function statisticsOf(
  [text, query, language]: Given,
  call: Call,
  environment: Environment,
): TypedSubquery {
  const { statement } = environment;
  const relation = relationOf(text, call, environment);
  const { table } = relation;
  const slot = statement.newSlot();
  statement.tableSlots.add(slot);
  const { name } = relation;
  const read: TypedRelation = {
    ...secured({ table, slot, name }, call.span, environment),
    ...{ slot, name, isNullable: false },
  };
  const ofTable = mapExpression(text, (inner) =>
    inner.kind === 'column' && inner.slot === relation.slot ? { ...inner, slot } : undefined,
  );
  const result: ValueType = { type: statisticsType, isNullable: false };
  const argument = packed([ofTable, query, language], statisticsParts);
  const aggregate = { function: statisticsAggregate, argument, isDistinct: false, ...result };
  const firstValue = statement.newValues(1);
  const block: TypedBlock = {
    kind: 'block',
    relations: [read],
    joins: [],
    where: undefined,
    grouping: { keys: [], aggregates: [aggregate], firstValue },
    having: undefined,
    items: [{ kind: 'value', value: firstValue, ...result }],
    isDistinct: false,
  };
  const counted = queryOf(block, [{ name: 'statistics', ...result }]);
  return { kind: 'subquery', mode: 'scalar', operand: undefined, query: counted, ...result };
}

/** The relation of a table that all columns of the text are of. */
function relationOf(
  text: TypedExpression,
  call: Call,
  environment: Environment,
): ScopeRelation & { readonly table: NonNullable<ScopeRelation['table']> } {
  const { slots, values } = needsOf(text);
  const [slot, second] = slots;
  const relation = slot === undefined ? undefined : relationOfSlot(slot, environment);
  if (relation?.table !== undefined && second === undefined && values.size === 0) {
    return { ...relation, table: relation.table };
  }
  const message =
    'The first argument of `rank` must be a column of a table: ' +
    'its rows are what a text is compared with';
  throw refuse(message, call.span, environment);
}
