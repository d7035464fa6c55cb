import type { EntityDocs, ModuleDocs } from '../doors/module-docs.ts';
import type { ModuleDefinition, ReducerDefinition } from '../schema/definition.ts';
import { JsonObject, type JsonValue } from '../values/json.ts';
import { fenced } from './fence.ts';
import { areNamed, argumentsSchema, isOption, type SchemaTypes, shortText } from './json-schema.ts';
import { signatureWords } from './prompts/schema-words.ts';
import { callOutputSchema, callReducer, positionalArguments } from './reducer-call.ts';
import type { ToolSource } from './tool.ts';

/** The program that the tools are derived from. */
export interface ReducerToolParts {
  /** Flat: with all submodules. */
  readonly definition: ModuleDefinition;
  readonly docs: ModuleDocs;
}

/** Creates the tool `toolName`, which runs one reducer of the session's database. */
export function reducerTool(
  reducer: ReducerDefinition,
  toolName: string,
  { definition, docs }: ReducerToolParts,
): ToolSource {
  const { name, params } = reducer;
  const said = docs.reducers.get(name) ?? nothing;
  const hasNames = areNamed(params.elements);
  return {
    name: toolName,
    title: name,
    description: descriptionOf(reducer, said, definition),
    properties: {},
    required: [],
    inputSchema: argumentsSchema(params, definition, said.parts),
    outputSchema: callOutputSchema,
    takesDatabase: true,
    effect: 'writes',
    run: (given, context) => {
      const database = context.session.database ?? '';
      const args = hasNames ? withNones(given, reducer, definition) : positionalArguments(given);
      return callReducer({ database, reducer: name, args, isQuoted: true }, context, fenced);
    },
  };
}

const nothing: EntityDocs = { text: '', parts: new Map() };

/** Returns the author's description, if any, and the signature. */
function descriptionOf(
  reducer: ReducerDefinition,
  { text }: EntityDocs,
  { typespace }: SchemaTypes,
): string {
  const runs = `Runs the ${shortText(signatureWords(reducer, typespace))}.`;
  return text === '' ? runs : `${text}\n\n${runs}`;
}

/** Adds `null` for omitted options. */
function withNones(
  given: JsonObject,
  { params }: ReducerDefinition,
  types: SchemaTypes,
): JsonObject {
  const absent = params.elements.flatMap((element): [string, JsonValue][] => {
    const { name } = element;
    const isAbsent = name !== undefined && given.get(name) === undefined;
    return isAbsent && isOption(element, types) ? [[name, null]] : [];
  });
  return new JsonObject([...given.entries, ...absent]);
}
