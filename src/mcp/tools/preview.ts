import { previewWithJson } from '../../doors/json-call.ts';
import { type Previews, procedureFault } from '../../doors/previews.ts';
import { temporaryConnection } from '../../host/supervision/temporary-connection.ts';
import { limits } from '../../limits.ts';
import { ownText } from '../../mcp-protocol/own-text.ts';
import type { JsonObject } from '../../values/json.ts';
import { databaseArgument } from '../database-argument.ts';
import { openDatabase } from '../open-database.ts';
import { previewAnswer, previewMembers, previewOf } from '../preview-answer.ts';
import { functionArguments } from '../reducer-call.ts';
import { parametersProperty, statementArgument } from '../statement.ts';
import {
  objectSchema,
  optionalIntegerArgument,
  stringArgument,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';
import { call } from './call.ts';

const outputSchema = objectSchema(previewMembers.always, {
  preview: { type: 'string' },
  ...previewMembers.maybe,
});

const rowsProperty = {
  max_rows: {
    type: 'integer',
    minimum: 1,
    maximum: limits.agentPreviewRowsMax,
    description: `Changed rows to show, ${limits.agentPreviewRowsUnasked} by default.`,
  },
} as const;

function rowsMaxIn(args: JsonObject): number {
  const range = rowsProperty.max_rows;
  return optionalIntegerArgument(args, 'max_rows', range) ?? limits.agentPreviewRowsUnasked;
}

/** Shows the effects of a reducer without applying them. */
export function previewCallTool(previews: Previews): ToolSource {
  return {
    name: 'preview_call',
    title: 'Preview reducer call',
    description:
      'Runs a reducer and rolls it back: shows the rows that it would change, the value that it ' +
      'would return and what it would log. Nothing is changed, and no subscriber is notified. ' +
      'apply_preview then applies exactly that.',
    properties: call.properties,
    moreProperties: rowsProperty,
    required: call.required,
    outputSchema,
    takesDatabase: true,
    effect: 'reads',
    run: async (args, context) => {
      const name = databaseArgument(args, context);
      const called = ownText(stringArgument(args, 'reducer'));
      const given = functionArguments(args);
      const open = openDatabase(name, context);
      const { caller, handle } = open;
      const fault = await procedureFault(handle, caller.rights, called);
      if (fault !== undefined) throw new ToolFailure(fault);
      const connection = temporaryConnection();
      const { description, work, outcome } = await previewWithJson(
        handle,
        { caller, connection, name: called, args: given, confirmed: true },
        { rowsMax: rowsMaxIn(args) },
      );
      const previewed = { work, description };
      return previewAnswer({ context, open, previews }, previewed, previewOf(outcome));
    },
  };
}

/** Shows the changes of a statement without applying them. */
export function previewSqlTool(previews: Previews): ToolSource {
  return {
    name: 'preview_sql',
    title: 'Preview SQL write',
    description:
      'Runs an INSERT, UPDATE or DELETE and rolls it back: shows the rows that it would change. ' +
      'Nothing is changed, and no subscriber is notified. apply_preview then applies exactly that.',
    properties: {
      sql: { type: 'string', description: 'One INSERT, UPDATE or DELETE.' },
      params: parametersProperty,
    },
    moreProperties: rowsProperty,
    required: ['sql'],
    outputSchema,
    takesDatabase: true,
    effect: 'reads',
    run: async (args, context) => {
      const name = databaseArgument(args, context);
      const statement = statementArgument(args);
      const open = openDatabase(name, context);
      const { caller, handle } = open;
      const connection = temporaryConnection();
      const query = { ...statement, caller, connection, confirmed: true };
      const work = { kind: 'query', query } as const;
      const description = await handle.describe();
      const outcome = await handle.preview({ work, rowsMax: rowsMaxIn(args) });
      const previewed = { work, description };
      return previewAnswer({ context, open, previews }, previewed, previewOf(outcome));
    },
  };
}
