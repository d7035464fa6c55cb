import { present } from '../../assert.ts';
import {
  type KeptPreview,
  onBehalfOf,
  type Previews,
  unknownPreviewText,
} from '../../doors/previews.ts';
import { limits } from '../../limits.ts';
import type { InputRequired } from '../../mcp-protocol/input-required.ts';
import { JsonObject, type JsonValue } from '../../values/json.ts';
import { databaseArgument } from '../database-argument.ts';
import { openDatabase } from '../open-database.ts';
import {
  type Asked,
  previewAnswer,
  previewMembers,
  previewOf,
  previewOwner,
} from '../preview-answer.ts';
import { shownText } from '../shown-text.ts';
import { structuredJson } from '../structured.ts';
import {
  integerSchema,
  objectSchema,
  stringArgument,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

/** Applies a preview. */
export function applyPreviewTool(previews: Previews): ToolSource {
  return {
    name: 'apply_preview',
    title: 'Apply preview',
    description:
      'Applies exactly what a preview showed, with the same random values and the same time. If ' +
      'the result would differ by now, nothing is changed, and the answer is a new preview.',
    properties: {
      preview: {
        type: 'string',
        description: 'The preview, as returned by preview_call or preview_sql.',
      },
    },
    required: ['preview'],
    outputSchema: objectSchema(
      { applied: { type: 'boolean' }, offset: integerSchema },
      { preview: { type: 'string' }, ...previewMembers.always, ...previewMembers.maybe },
    ),
    takesDatabase: true,
    effect: 'writes',
    run: async (args, context) => {
      const name = databaseArgument(args, context);
      const id = stringArgument(args, 'preview');
      const open = openDatabase(name, context);
      const kept = previews.find(previewOwner(context.session, open), id);
      if (kept === undefined) throw unknownPreview();
      const question = questionFor(kept, name, context);
      if (question !== undefined) return question;
      previews.drop(id);
      return apply(kept, { context, open, previews });
    },
  };
}

function unknownPreview(): ToolFailure {
  return new ToolFailure(unknownPreviewText, 'Preview again.');
}

async function apply(kept: KeptPreview, asked: Asked): Promise<ToolAnswer> {
  const { open } = asked;
  const work = onBehalfOf(open.caller, kept.work);
  const rowsMax = limits.agentPreviewRowsUnasked;
  const outcome = await open.handle.preview({ work, apply: kept.key, rowsMax });
  const preview = previewOf(outcome);
  if (outcome.kind !== 'applied') return previewAnswer(asked, { ...kept, work }, preview, differs);
  const offset = String(outcome.offset);
  return {
    texts: ['Applied, exactly as previewed.', structuredJson({ offset })],
    structured: structuredJson({ applied: 'true', offset }),
  };
}

/** Starts the result if the preview has changed. */
const differs = {
  opening: 'Not applied, because by now it would come to something else. Nothing has happened',
  members: { applied: 'false' },
};

/**
 * Returns the confirmation to request from the user, if the client can ask; `undefined` otherwise,
 * or once the user has agreed.
 */
function questionFor(
  { question: asked }: KeptPreview,
  database: string,
  { clientCapabilities, given }: ToolContext,
): InputRequired | undefined {
  if (!canAsk(clientCapabilities)) return undefined;
  const answer = given?.answers.get('confirm');
  if (answer === undefined) {
    const { words, rows } = present(asked, 'what the user is asked');
    const shown = rows === '' ? '' : `\n${shownText(rows)}`;
    return question(`Apply this to the database ${database}? ${words}${shown}`);
  }
  if (!isConfirmed(answer)) {
    throw new ToolFailure('the user did not confirm, so nothing has happened');
  }
  return undefined;
}

/** Whether the client can show a form: forms are the default unless it names another mode. */
function canAsk(capabilities: JsonObject | undefined): boolean {
  const asks = capabilities?.get('elicitation');
  if (!(asks instanceof JsonObject)) return false;
  return asks.entries.length === 0 || asks.get('form') !== undefined;
}

function question(message: string): InputRequired {
  const confirm = { type: 'boolean', title: 'Apply', description: 'Apply the change.' };
  const requestedSchema = { type: 'object', properties: { confirm }, required: ['confirm'] };
  const params = { mode: 'form', message, requestedSchema };
  return { kind: 'inputRequired', requests: { confirm: { method: 'elicitation/create', params } } };
}

function isConfirmed(answer: JsonValue): boolean {
  if (!(answer instanceof JsonObject) || answer.get('action') !== 'accept') return false;
  const content = answer.get('content');
  return content instanceof JsonObject && content.get('confirm') === true;
}
