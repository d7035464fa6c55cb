import { Refusal } from '../../database/outcome.ts';
import { bigintToHex } from '../../values/hex.ts';
import type { FollowerRole } from './database-role.ts';

/** The refusal of a request that reached a host which does not lead its database. */
export function notLeaderRefusal(role: Pick<FollowerRole, 'term' | 'leader'> | undefined): Refusal {
  const leader = role?.leader;
  const who =
    leader === undefined
      ? 'No host is known to lead it; try again'
      : `Host ${leader.name} (${leader.address}) leads it; ask there`;
  return new Refusal({
    code: 'database.notLeader',
    message: `This host does not lead the database; nothing was done. ${who}.`,
    ...(role !== undefined && { term: role.term }),
    ...(leader !== undefined && {
      leader: { host: bigintToHex(leader.host, 32), name: leader.name, address: leader.address },
    }),
  });
}
