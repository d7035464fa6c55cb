import { Command, Help } from 'commander';
import { productVersion } from '../service/version.ts';
import { asGiven } from './arguments.ts';
import { addAudit } from './commands/audit.ts';
import { addBackup } from './commands/backup.ts';
import { addBuild } from './commands/build.ts';
import { addCall } from './commands/call.ts';
import { addCluster } from './commands/cluster.ts';
import { addConfig } from './commands/config.ts';
import { addConsole } from './commands/console.ts';
import { addDelete } from './commands/delete.ts';
import { addDeploys } from './commands/deploys.ts';
import { addDescribe } from './commands/describe.ts';
import { addDev } from './commands/dev.ts';
import { addEnv } from './commands/env.ts';
import { addExport } from './commands/export.ts';
import { addGenerate } from './commands/generate.ts';
import { addGrant } from './commands/grant.ts';
import { addImport } from './commands/import.ts';
import { addInit } from './commands/init.ts';
import { addKeys } from './commands/keys.ts';
import { addLedger } from './commands/ledger.ts';
import { addList } from './commands/list.ts';
import { addLock } from './commands/lock.ts';
import { addLogin } from './commands/login.ts';
import { addLogs } from './commands/logs.ts';
import { addMcp } from './commands/mcp.ts';
import { addMigrate } from './commands/migrate.ts';
import { addMigrateFromSpacetimedb } from './commands/migrate-from-spacetimedb.ts';
import { addPublish } from './commands/publish.ts';
import { addQuota } from './commands/quota.ts';
import { addRecoverOwner } from './commands/recover-owner.ts';
import { addRename } from './commands/rename.ts';
import { addRepair } from './commands/repair.ts';
import { addRetention } from './commands/retention.ts';
import { addSchedule } from './commands/schedule.ts';
import { addServer } from './commands/server.ts';
import { addSnapshot } from './commands/snapshot.ts';
import { addSource } from './commands/source.ts';
import { addSql } from './commands/sql.ts';
import { addStart } from './commands/start.ts';
import { addSubscribe } from './commands/subscribe.ts';
import { addToken } from './commands/token.ts';
import { addVerify } from './commands/verify.ts';
import type { Io } from './io.ts';

const examples = `
First steps:
  reducerdb start                                   run a service on 127.0.0.1:3000
  reducerdb init app                                create a module project
  reducerdb publish my-db --module-path app         build and publish it
  reducerdb call my-db add_task '"write a reducer"' run a reducer
  reducerdb sql my-db "SELECT * FROM task"          look at the rows
  reducerdb logs my-db --follow                     watch what the module prints
  reducerdb console my-db                           look at all of it in a browser
  reducerdb mcp my-db                               serve the database to an agent`;

/** Makes the whole command line; each subcommand, one per file, adds itself here. */
export function makeProgram(io: Io): Command {
  const program = new Command('reducerdb')
    .description('A database service: tables, reducers, identities, SQL and MCP.')
    .version(`reducerdb ${productVersion}`, '-V, --version', 'print the version')
    .option('--root-dir <dir>', 'keep all state of this user below one folder')
    .option('--config-path <file>', 'read and write the user configuration here')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', examples)
    .showHelpAfterError('(add --help for usage)')
    .configureOutput({ outputError: (text, write) => write(asGiven(text)) })
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false, subcommandTerm })
    .exitOverride();
  const adders = [
    addStart,
    addInit,
    addDev,
    addBuild,
    addGenerate,
    addMigrate,
    addPublish,
    addDeploys,
    addCall,
    addSql,
    addSubscribe,
    addDescribe,
    addConsole,
    addLogs,
    addLedger,
    addSource,
    addMcp,
    addList,
    addRename,
    addLock,
    addDelete,
    addGrant,
    addQuota,
    addEnv,
    addSchedule,
    addSnapshot,
    addRetention,
    addExport,
    addImport,
    addBackup,
    addToken,
    addLogin,
    addServer,
    addVerify,
    addRepair,
    addAudit,
    addKeys,
    addRecoverOwner,
    addCluster,
    addConfig,
    addMigrateFromSpacetimedb,
  ];
  for (const add of adders) add(program, io);
  program
    .command('version')
    .description('print the version')
    .action(() => io.out(`reducerdb ${productVersion}`));
  return program;
}

/** A command's line in a list of commands; where the command parses its words itself, its usage. */
function subcommandTerm(command: Command): string {
  const parsesWords = command.registeredArguments.some((one) => /^words?$/.test(one.name()));
  if (parsesWords) return `${command.name()} ${command.usage()}`;
  return Help.prototype.subcommandTerm(command);
}
