import {
  openQuestion,
  questionKey,
  type RenameAnswers,
  type RenameQuestion,
} from '../codegen/migration-changes.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { CliError, type Io } from './io.ts';

/** Asks what became of tables and columns that are gone, one after the other. */
export async function askRenames(
  { io, isYes }: { readonly io: Io; readonly isYes: boolean },
  old: ModuleDefinition,
  next: ModuleDefinition,
): Promise<RenameAnswers> {
  const answers = new Map<string, string | undefined>();
  for (;;) {
    const question = openQuestion(old, next, answers);
    if (question === undefined) return answers;
    const answer = isYes ? question.likely : await ask(io, question);
    if (isYes) io.err(`${nameOf(question)} is ${fateText(answer)}: this is likely (--yes).`);
    answers.set(questionKey(question), answer);
  }
}

/** Until one of the numbers is the answer; the likely one is the default. */
async function ask(io: Io, question: RenameQuestion): Promise<string | undefined> {
  const { candidates, likely, kind } = question;
  const fates = [...candidates, undefined];
  const gone = kind === 'table' ? 'with its rows' : 'with its values';
  const lines = fates.map((to, at) => `  ${at + 1}  it is ${fateText(to, gone)}`);
  io.out(
    [`${nameOf(question)} is not in the module any more. What became of it?`, ...lines].join('\n'),
  );
  const byDefault = fates.indexOf(likely) + 1;
  for (;;) {
    const given = await io.ask(`1 to ${fates.length} [${byDefault}]: `);
    if (given === undefined) {
      throw new CliError(
        'Nobody can answer here; --yes takes what is likely. Nothing was written.',
      );
    }
    const number = given.trim() === '' ? byDefault : Number(given.trim());
    if (Number.isInteger(number) && number >= 1 && number <= fates.length) return fates[number - 1];
    io.err(`\`${given.trim()}\` is not one of the numbers.`);
  }
}

function nameOf({ kind, table, from }: RenameQuestion): string {
  return kind === 'table' ? `Table \`${from}\`` : `Column \`${from}\` of table \`${table}\``;
}

function fateText(to: string | undefined, gone?: string): string {
  if (to !== undefined) return `now \`${to}\``;
  return gone === undefined ? 'gone' : `gone, ${gone}`;
}
