import { unreachable } from '../assert.ts';
import type { CallError } from '../database/outcome.ts';
import type { Preview, PreviewOutcome } from '../database/preview-outcome.ts';
import { previewJson } from '../doors/json-call.ts';
import type { Previewed, PreviewOwner, Previews } from '../doors/previews.ts';
import { limits } from '../limits.ts';
import type { JsonSchema } from '../mcp-protocol/tool.ts';
import { firstRow, sqlRows } from '../protocol/sql-result.ts';
import { fenced } from './fence.ts';
import type { OpenDatabase } from './open-database.ts';
import { changedRowsText, changesJson, changesText, shownTables } from './preview-text.ts';
import { callFailureText } from './reducer-call.ts';
import type { McpSession } from './session.ts';
import { sqlFailure } from './statement.ts';
import { structuredJson } from './structured.ts';
import {
  integerSchema,
  objectSchema,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
} from './tool.ts';

const rowObjects = { type: 'array', items: { type: 'object' } } as const;

/** Members of a preview's structured result, grouped by whether they are always present. */
export const previewMembers: Record<'always' | 'maybe', Readonly<Record<string, JsonSchema>>> = {
  always: {
    outcome: { enum: ['commits', 'fails'] },
    changes: {
      type: 'array',
      items: objectSchema({
        table: { type: 'string' },
        event: { type: 'boolean' },
        inserted: rowObjects,
        deleted: rowObjects,
        updated: {
          type: 'array',
          items: objectSchema({
            key: { type: 'object' },
            before: { type: 'object' },
            after: { type: 'object' },
          }),
        },
        hidden: { type: 'integer' },
      }),
    },
    complete: { type: 'boolean' },
    logs: {
      type: 'array',
      items: objectSchema({ level: { type: 'string' }, message: { type: 'string' } }),
    },
    offset: integerSchema,
  },
  maybe: {
    error: { type: 'string' },
    value: {},
    counts: objectSchema({
      inserted: { type: 'integer' },
      deleted: { type: 'integer' },
      updated: { type: 'integer' },
    }),
    returned: { type: 'array', items: { type: 'array' } },
    dropped_logs: { type: 'integer' },
  },
};

/** Throws `ToolFailure` if nothing ran, or if it did not finish. */
export function previewOf(outcome: PreviewOutcome): Preview {
  if (outcome.kind === 'refused' || outcome.kind === 'overBudget') {
    throw new ToolFailure(outcome.message);
  }
  return outcome.preview;
}

/** The request for a preview, and the store that keeps it. */
export interface Asked {
  readonly context: ToolContext;
  readonly open: OpenDatabase;
  readonly previews: Previews;
}

/** The part of a result before the preview. */
interface AnswerHead {
  readonly opening: string;
  /** JSON by member. */
  readonly members: Readonly<Record<string, string>>;
}

/** Shows the effects of a preview, and keeps it if it can be applied. */
export function previewAnswer(
  { context: { session }, open, previews }: Asked,
  previewed: Previewed,
  preview: Preview,
  head: AnswerHead = { opening: 'Nothing has happened', members: {} },
): ToolAnswer {
  const { isCommit, words, rows, members } = shownPreview(previewed, preview);
  const isApplicable = isCommit && !session.features.has('read-only');
  const id = isApplicable
    ? previews.keep(previewOwner(session, open), {
        ...previewed,
        key: preview.key,
        question: { words, rows },
      })
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

/** Whose previews those of a session are. */
export function previewOwner(
  { callerKey }: McpSession,
  { database, caller }: OpenDatabase,
): PreviewOwner {
  return { callerKey, database, rights: caller.rights };
}

function howToApply(id: string): string {
  const minutes = limits.previewMillisMax / 60_000;
  return (
    `To make exactly this happen, call apply_preview with \`preview\`: "${id}" within ` +
    `${minutes} minutes.`
  );
}

/** The effects of a preview, for a result. */
interface ShownPreview {
  readonly isCommit: boolean;
  /** Without row contents: `reducer 'add_task' would commit and change task: 1 inserted`. */
  readonly words: string;
  /** The rows that change, for people. */
  readonly rows: string;
  /** All effects, as JSON by member. */
  readonly members: Readonly<Record<string, string | undefined>>;
}

/** Throws `ToolFailure` if the call could not start: an unknown reducer, a wrong argument. */
export function shownPreview(previewed: Previewed, preview: Preview): ShownPreview {
  const tables = shownTables(preview);
  const ending = endingOf(previewed, preview);
  const isCommit = ending.error === undefined;
  const { work } = previewed;
  const what = work.kind === 'call' ? `reducer '${work.call.reducer}'` : 'the statement';
  return {
    isCommit,
    words: isCommit
      ? `${what} would commit and change ${changesText(tables, preview.isComplete)}`
      : `${what} would fail and change nothing`,
    rows: changedRowsText(tables, limits.previewQuestionCharactersMax),
    members: {
      outcome: isCommit ? '"commits"' : '"fails"',
      ...ending,
      changes: changesJson(tables),
      complete: String(preview.isComplete),
      logs: JSON.stringify(preview.lines.map(({ level, message }) => ({ level, message }))),
      dropped_logs: preview.droppedLines === 0 ? undefined : String(preview.droppedLines),
      offset: String(preview.offset),
    },
  };
}

interface Ending {
  readonly error?: string;
  readonly value?: string;
  readonly counts?: string;
  readonly returned?: string;
}

/** Returns the outcome, as JSON by member. */
function endingOf({ work, description }: Previewed, preview: Preview): Ending {
  const { result } = preview;
  const reducer = work.kind === 'call' ? work.call.reducer : '';
  const value = previewJson(description, reducer, preview);
  switch (result.kind) {
    case 'returned':
      return value === undefined ? {} : { value };
    case 'callFailed':
      return { error: JSON.stringify(failureText(result.error, reducer, value)) };
    case 'wrote': {
      const { inserted, deleted, updated, columns } = result;
      const counts = JSON.stringify({ inserted, deleted, updated });
      if (columns.length === 0) return { counts };
      const fits = (_: string, count: number) => count < limits.agentPreviewRowsMax;
      const { rows } = sqlRows(result, firstRow, fits, 'plainCells');
      return { counts, returned: `[${rows.join(',')}]` };
    }
    case 'queryFailed':
      throw sqlFailure(result.error, fenced);
    default:
      return unreachable(result);
  }
}

function failureText(error: CallError, reducer: string, value: string | undefined): string {
  const text = callFailureText(error, reducer, { value, show: (data) => data });
  if (unbegun.includes(error.code)) throw new ToolFailure(text);
  return text;
}

/** Mistakes of the caller. */
const unbegun: readonly CallError['code'][] = [
  'reducer.unknown',
  'reducer.notCallable',
  'arguments.invalid',
  'schema.changed',
  'call.readOnly',
];
