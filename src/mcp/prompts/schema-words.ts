import type { ModuleDefinition, ReducerDefinition } from '../../schema/definition.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, NamedType, Typespace } from '../../values/type.ts';
import { resolveType, typeText } from '../../values/typespace.ts';

/** Tables, views and reducers, a column a line: what an agent has to know before it asks. */
export function schemaWords(definition: ModuleDefinition): string {
  const { typespace, tables, views, reducers, rowLevelSecurity } = definition;
  const columnsOf = (columns: readonly NamedType[], marks: (at: number) => readonly string[]) =>
    columns.map(({ name, type }, at) =>
      ['  ', [`${name}: ${typeWords(type, typespace)}`, ...marks(at)].join(', ')].join(''),
    );
  return [
    ...tables.flatMap(({ name, access, isEvent, columns, primaryKey, indexes }) => [
      `table ${name} (${access}${isEvent ? ', its rows are events and not kept' : ''})`,
      ...columnsOf(columns, (at) => {
        const isOfIndex = indexes.some((index) => index.columns[0] === at);
        if (at === primaryKey) return ['primary key'];
        return isOfIndex ? ['indexed'] : [];
      }),
    ]),
    ...views.flatMap(({ name, isPublic, columns }) => [
      `view ${name} (${isPublic ? 'public' : 'private'})`,
      ...columnsOf(columns, () => []),
    ]),
    ...reducers.map((reducer) => reducerWords(reducer, typespace)),
    ...rowLevelSecurity.map((filter) => `row filter: ${filter}`),
  ].join('\n');
}

/** `reducer add(id: U64, title: String)`, with what it returns and who may not call it. */
export function reducerWords(reducer: ReducerDefinition, types: Typespace): string {
  const { name, params, returns, throws, lifecycle, visibility } = reducer;
  const parameters = params.elements.map(
    (one, at) => `${one.name ?? at}: ${typeWords(one.type, types)}`,
  );
  const called = lifecycle === undefined ? 'called by its owner alone' : `runs ${when[lifecycle]}`;
  return [
    `reducer ${name}(${parameters.join(', ')})`,
    ...(returns === undefined ? [] : [`returns ${typeWords(returns, types)}`]),
    ...(throws === undefined ? [] : [`refuses with ${typeWords(throws, types)}`]),
    ...(visibility === 'private' ? [called] : []),
  ].join(', ');
}

const when = {
  init: 'when the database is made',
  onConnect: 'when somebody connects',
  onDisconnect: 'when somebody disconnects',
} as const;

/** Types with a meaning by its name, `Identity?` for one that may be missing. */
function typeWords(type: AlgebraicType, types: Typespace): string {
  const resolved = resolveType(type, types);
  const kind = specialKindOf(resolved);
  if (kind === 'option' && resolved.kind === 'sum') {
    const some = resolved.variants[0]?.type;
    if (some !== undefined) return `${typeWords(some, types)}?`;
  }
  if (kind === undefined || kind === 'option' || kind === 'result' || kind === 'unit') {
    return typeText(type, types);
  }
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}
