import type { Preview, PreviewOutcome } from '../../database/preview-outcome.ts';
import { previewWithJson } from '../../host/json-call.ts';
import { temporaryConnection } from '../../host/temporary-connection.ts';
import { limits } from '../../limits.ts';
import { ownText } from '../../mcp-protocol/own-text.ts';
import { fenced } from '../fence.ts';
import { type OpenDatabase, openDatabase } from '../open-database.ts';
import { previewMembers, shownPreview } from '../preview-answer.ts';
import type { Previewed, Previews } from '../previews.ts';
import { parametersProperty, statementArgument } from '../statement.ts';
import { structuredJson } from '../structured.ts';
import {
  databaseArgument,
  objectSchema,
  stringArgument,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';
import { call, positionalArguments } from './call.ts';

const outputSchema = objectSchema(previewMembers.always, {
  preview: { type: 'string' },
  ...previewMembers.maybe,
});

/** Shows what a reducer would do. */
export function previewCallTool(previews: Previews): ToolSource {
  return {
    name: 'preview_call',
    title: 'Preview reducer call',
    description:
      'Runs a reducer and takes everything back: shows the rows that it would change, the value ' +
      'that it would return and what it would log. Nothing happens, and nobody else is told. ' +
      'apply_preview then does exactly that.',
    properties: call.properties,
    required: call.required,
    outputSchema,
    takesDatabase: true,
    effect: 'reads',
    run: async (args, context) => {
      const name = databaseArgument(args, context);
      const reducer = ownText(stringArgument(args, 'reducer'));
      const given = positionalArguments(args);
      const open = openDatabase(name, context);
      const { caller, handle } = open;
      const connection = temporaryConnection();
      const { description, work, outcome } = await previewWithJson(
        handle,
        { caller, connection, reducer, args: given, isQuoted: true, confirmed: true },
        limits.agentPreviewRowsMax,
      );
      const previewed = { work, description };
      return previewAnswer({ context, open, previews }, previewed, previewOf(outcome));
    },
  };
}

/** Shows what a statement would write. */
export function previewSqlTool(previews: Previews): ToolSource {
  return {
    name: 'preview_sql',
    title: 'Preview SQL write',
    description:
      'Runs an INSERT, UPDATE or DELETE and takes everything back: shows the rows that it would ' +
      'change. Nothing happens, and nobody else is told. apply_preview then does exactly that.',
    properties: {
      sql: { type: 'string', description: 'One INSERT, UPDATE or DELETE.' },
      params: parametersProperty,
    },
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
      const outcome = await handle.preview({ work, rowsMax: limits.agentPreviewRowsMax });
      const previewed = { work, description };
      return previewAnswer({ context, open, previews }, previewed, previewOf(outcome));
    },
  };
}

/** Throws `ToolFailure` when nothing was run, or not to its end. */
export function previewOf(outcome: PreviewOutcome): Preview {
  if (outcome.kind === 'refused' || outcome.kind === 'overBudget') {
    throw new ToolFailure(outcome.message);
  }
  return outcome.preview;
}

/** Who asked, where, and what is kept for them. */
export interface Asked {
  readonly context: ToolContext;
  readonly open: OpenDatabase;
  readonly previews: Previews;
}

/** What an answer says before the preview. */
export interface AnswerHead {
  readonly opening: string;
  /** JSON by member. */
  readonly members: Readonly<Record<string, string>>;
}

/** Shows what would happen, and keeps it where it can be applied. */
export function previewAnswer(
  { context: { session }, open, previews }: Asked,
  previewed: Previewed,
  preview: Preview,
  head: AnswerHead = { opening: 'Nothing has happened', members: {} },
): ToolAnswer {
  const { isCommit, words, members } = shownPreview(previewed, preview);
  const isApplicable = isCommit && !session.features.has('read-only');
  const id = isApplicable
    ? previews.keep(session, open, { ...previewed, key: preview.key, words })
    : undefined;
  return {
    texts: [
      `${head.opening}: ${words}.`,
      fenced(structuredJson(members)),
      ...(id === undefined ? [] : [howToApply(id)]),
    ],
    structured: structuredJson({
      ...head.members,
      preview: id === undefined ? undefined : JSON.stringify(id),
      ...members,
    }),
  };
}

function howToApply(id: string): string {
  const minutes = limits.previewMillisMax / 60_000;
  return (
    `To make exactly this happen, call apply_preview with \`preview\`: "${id}" within ` +
    `${minutes} minutes.`
  );
}
