import type { Command } from 'commander';
import {
  callErrorText,
  noSuchProcedureText,
  procedureErrorText,
} from '../../doors/call-error-text.ts';
import { limits } from '../../limits.ts';
import { LooseNames } from '../../values/loose-names.ts';
import { nearestNames } from '../../values/nearest-names.ts';
import { type Api, databasePath, hintedText, hintLines } from '../api.ts';
import { callArguments } from '../call-arguments.ts';
import { databaseAndFunction } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withAnonymous, withServer, withYes } from '../shared-flags.ts';
import {
  type FunctionSignature,
  readSignatures,
  signatureText,
  usageText,
  withDefaults,
} from '../signatures.ts';

export function addCall(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('call [words...]'))))
    .usage('[options] [database] <function> [arguments...]')
    .description(
      'call a reducer or a procedure; arguments are JSON, texts and names can go without quotes',
    )
    .addHelpText('after', examples)
    .action(async (words: string[], _flags, command: Command) => {
      const session = new Session(io, command);
      const { chosen, rest } = databaseAndFunction(session, words);
      const [name = '', ...args] = rest;
      const { database, server } = chosen;
      const api = await session.apiWithIdentity(server);
      const signatures = await readSignatures(api, database, name);
      const signature = signatures[new LooseNames(signatures).find(name)];
      const answer = await api.send(
        'POST',
        databasePath(database, `/call/${encodeURIComponent(name)}`),
        {
          headers: { 'content-type': 'application/json' },
          body: callArguments(signature, args),
          answerBytesMax: limits.rowsAnswerBytesMax,
        },
      );
      const whole = await answer.text();
      if (answer.ok) {
        if (whole !== '') io.out(whole);
        return;
      }
      const { text, hint } = hintedText(answer, whole);
      if (isCrash(text)) {
        const reason = hint ?? `The module's log says why: reducerdb logs ${database}`;
        throw new CliError(`${text}\n${reason}`);
      }
      const resolved = await api.text('GET', databasePath(database, '/identity'));
      const failed = { status: answer.status, text, name, database, resolved };
      const isNamed = rest.length < words.length;
      const explained =
        signature !== undefined && isMisfit(failed)
          ? misfitText(failed, await withDefaults(api, database, signature))
          : explain(failed, signatures);
      // The names are in what is explained.
      if (!isUnknown(failed)) throw new CliError([explained, ...hintLines(hint)].join('\n'));
      const project = isNamed ? [] : await projectHint(api, failed);
      throw new CliError([explained, ...project].join('\n'));
    });
}

const examples = `
Examples:
  reducerdb call my-db add_task "drink tea"
  reducerdb call my-db complete_task 1`;

interface FailedCall {
  readonly status: number;
  readonly text: string;
  readonly name: string;
  readonly database: string;
  readonly resolved: string;
}

function isUnknown({ status, text }: FailedCall): boolean {
  return status === 404 && text === noSuchProcedureText;
}

/**
 * A hint for a call in a project's folder whose first word was taken as the reducer but names a
 * database.
 */
async function projectHint(api: Api, { name, database }: FailedCall): Promise<string[]> {
  const { ok } = await api.send('GET', databasePath(name, '/identity'));
  if (!ok) return [];
  return [
    '',
    `\`${name}\` is a database, but the project configuration of this folder selects ` +
      `\`${database}\`. Leave out \`${name}\`, or pass --no-config to call \`${name}\`.`,
  ];
}

function explain(failed: FailedCall, signatures: readonly FunctionSignature[]): string {
  const { text, name, database, resolved } = failed;
  return isUnknown(failed) ? unknownText(name, database, resolved, signatures) : text;
}

/** Whether the arguments do not fit the parameters. */
function isMisfit({ status, text }: FailedCall): boolean {
  return status === 400 && text.startsWith('invalid arguments');
}

function misfitText(
  { text, name, database, resolved }: FailedCall,
  signature: FunctionSignature,
): string {
  return (
    `Invalid arguments provided for ${signature.kind} \`${name}\` for database \`${database}\` ` +
    `resolving to identity \`${resolved}\`.\n${withoutList(text)}\n\n` +
    `The ${signature.kind} has the following signature:\n  ${signatureText(signature)}\n\n` +
    `Usage: ${usageText(signature, database)}`
  );
}

/** A fault in the number of arguments, without the list to send over HTTP. */
function withoutList(text: string): string {
  return text.replace(/( for \d+ parameters?); (?:add it, )?e\.g\. \[.*\]$/, '$1');
}

function isCrash(text: string): boolean {
  return text === crashText || text.startsWith(procedureFailedText);
}

const crashText = callErrorText({ code: 'reducer.crashed' });
const procedureFailedText = procedureErrorText({ code: 'procedure.failed', message: '' });

/** Functions of a kind that are listed for an unknown name. */
const listedMax = 10;

function unknownText(
  name: string,
  database: string,
  resolved: string,
  signatures: readonly FunctionSignature[],
): string {
  const names = signatures.map((signature) => signature.name);
  const near = nearestNames(name, names);
  const lines = [
    `No such reducer OR procedure \`${name}\` for database \`${database}\` resolving to identity ` +
      `\`${resolved}\`.`,
  ];
  if (near.length > 0) lines.push('', `Did you mean: ${near.join(', ')}?`);
  for (const kind of ['reducer', 'procedure'] as const) {
    const texts = signatures.filter((it) => it.kind === kind).map(signatureText);
    if (texts.length === 0) continue;
    const shown = texts.slice(0, listedMax).map((text) => `- ${text}`);
    lines.push('', `Here are some existing ${kind}s:`, ...shown);
    const more = texts.length - shown.length;
    if (more > 0) lines.push(`… and ${more} more: reducerdb describe ${database}`);
  }
  return lines.join('\n');
}
