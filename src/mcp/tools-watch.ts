import { limits } from '../limits.ts';
import { mayConcern } from './open-database.ts';
import { Notices } from './resources/notices.ts';
import { SnapshotWatch } from './resources/snapshot-watch.ts';
import type { McpSession } from './session.ts';
import { hasReducerTools, type ReducerTools } from './typed-reducers.ts';

/**
 * Reports changes of a session's tools, after another module was published or the caller's rights
 * to reducers changed, until the returned function is called. Returns `undefined` if the tools
 * never change.
 */
export function watchReducerTools(
  session: McpSession,
  reducerTools: ReducerTools,
  changed: () => void,
): (() => void) | undefined {
  if (!hasReducerTools(session)) return undefined;
  const { host } = session;
  const notices = new Notices(limits.watchNoticeMillis, changed);
  // The tools are unknown then; a client that lists them gets the error.
  const failed = () => notices.note('tools');
  const watch = new SnapshotWatch({
    uri: 'tools',
    read: async () => JSON.stringify(await reducerTools(session)),
    concerns: (database) => mayConcern(session.database, session, database),
    changed: (what) => notices.note(what),
    failed,
  });
  const forget = [
    host.onDatabaseChange((database) => watch.examine(database)),
    host.grants.onLoss(() => watch.examine()),
  ];
  watch.open().catch(failed);
  return () => {
    for (const end of forget) end();
    watch.close();
    notices.close();
  };
}
