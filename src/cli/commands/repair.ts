import type { Command } from 'commander';
import type { Kept, ShownLog } from '../../service/repair.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { faultText, keepQuestion, logText } from '../repair-text.ts';
import { dataFolder, dataFolderFlag } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir, withYes } from '../shared-flags.ts';

interface RepairFlags {
  readonly keep?: string;
  readonly json?: true;
  readonly dataDir?: string;
}

export function addRepair(program: Command, io: Io): void {
  withDataDir(withYes(program.command('repair <database>')))
    .description('show the parts of a forked or damaged log, and keep one of them')
    .option('--keep <part>', 'keep this tail, or only the `common` part; set the rest aside')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (database: string, flags: RepairFlags, command: Command) => {
      const session = new Session(io, command);
      const kept = keptOf(flags.keep);
      const { examineIn } = await import('../../service/repair.ts');
      const folder = dataFolder(session, flags.dataDir);
      const named = dataFolderFlag(session, flags.dataDir);
      const log = await examineIn(folder, database, named);
      if (flags.json !== true) io.out(logText(log, { database, folder: named }));
      else if (kept === undefined) io.out(JSON.stringify(log, null, 2));
      const fault = faultText(log);
      if (fault === undefined) return;
      if (kept === undefined) throw new CliError(fault);
      if (!(await isWanted(session, log, kept))) {
        io.out('Aborting: nothing was changed.');
        return;
      }
      await repair(io, folder, database, kept, flags);
    });
}

const help = `
For a forked history, keep one tail by its number, or the common part. For a damaged log, only the
part before the damage can be kept: --keep common. The rest is then beside the log, as ….torn-1.

The service must be stopped. Without --keep, nothing is changed. The exit code is 1 if the log does
not open as it is. Parts that are set aside are moved to a folder that the command names.`;

function keptOf(text: string | undefined): Kept | undefined {
  if (text === undefined || text === 'common') return text;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new CliError('--keep must be the number of a tail, or common', 2);
  return Number(text);
}

/**
 * Asks to confirm, except where the tail cannot be kept, which is refused, or where an earlier
 * decision is only finished.
 */
async function isWanted(session: Session, log: ShownLog, kept: Kept): Promise<boolean> {
  const question = keepQuestion(log, kept);
  return question === undefined || confirm(session.io, question, session.answersYes('all'));
}

async function repair(
  io: Io,
  folder: string,
  database: string,
  kept: Kept,
  { json }: RepairFlags,
): Promise<void> {
  const { repairIn } = await import('../../service/repair.ts');
  const { offset, aside = null, notes } = await repairIn(folder, database, kept);
  if (json === true) {
    io.out(JSON.stringify({ last_offset: offset, set_aside: aside, notes }, null, 2));
    return;
  }
  for (const note of notes) io.out(note);
  io.out(`The log of ${database} opens again and continues after offset ${offset}.`);
  if (aside !== null) io.out(`Set aside, not deleted: ${aside}`);
}
