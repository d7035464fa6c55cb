import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { countText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toast.tsx';
import { useLoad } from '../../service/load.ts';
import { type LimitedToken, type NewToken, readTokens, revokeToken } from '../../service/tokens.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './access.module.css';
import { NewTokenDialog, ShownOnce } from './new-token.tsx';

/** Limited tokens that count: making, looking at and revoking them. */
export function Tokens({ database }: { readonly database: string }) {
  const { whyNot } = useDatabase();
  const tokens = useLoad(`tokens ${database}`, (signal) => readTokens(database, signal));
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewToken | null>(null);
  const [revoked, setRevoked] = useState<LimitedToken | null>(null);
  const revoke = async ({ id }: LimitedToken) => {
    try {
      await revokeToken(database, id);
      say(`The token ${id.slice(0, 8)} is refused from now on`);
      tokens.reload();
    } catch (error) {
      complain('The token was not revoked', error);
    }
    setRevoked(null);
  };
  const make = (
    <Button kind="accent" icon="plus" off={whyNot('create_token')} onClick={() => setMaking(true)}>
      New token
    </Button>
  );
  return (
    <>
      <Panel title="Limited tokens" isBare actions={make}>
        <WhenLoaded of={tokens}>
          {(list) =>
            list.length === 0 ? (
              <Empty icon="key" title="No limited token">
                Hand one to an agent or a script: it is for this database alone, and does only what
                you choose.
              </Empty>
            ) : (
              <Table
                label="Limited tokens"
                columns={columnsWith(setRevoked)}
                rows={list}
                keyOf={({ id }) => id}
              />
            )
          }
        </WhenLoaded>
      </Panel>
      {isMaking && (
        <NewTokenDialog
          database={database}
          onClose={() => setMaking(false)}
          onMade={(token) => {
            setMaking(false);
            setMade(token);
            tokens.reload();
          }}
        />
      )}
      {made !== null && <ShownOnce database={database} made={made} onClose={() => setMade(null)} />}
      {revoked !== null && (
        <Confirm
          title="Revoke this token?"
          action="Revoke"
          onConfirm={() => revoke(revoked)}
          onClose={() => setRevoked(null)}
        >
          <p>It is refused from now on, and its open connections are closed.</p>
        </Confirm>
      )}
    </>
  );
}

function columnsWith(
  onRevoke: (token: LimitedToken) => void,
): readonly TableColumn<LimitedToken>[] {
  return [
    { title: 'Token', cell: ({ id }) => <code title={id}>{id.slice(0, 8)}</code> },
    { title: 'May', cell: (token) => <Limits token={token} /> },
    { title: 'Made by', cell: ({ issuedBy }) => <IdentityText hex={issuedBy} /> },
    { title: 'Made', cell: ({ issuedAt }) => <Ago time={issuedAt} /> },
    {
      title: 'Ends',
      cell: ({ expiresAt }) => (expiresAt === null ? 'never' : <Ago time={expiresAt} />),
    },
    {
      title: '',
      isNumber: true,
      cell: (token) => (
        <Button
          size="small"
          aria-label={`Revoke the token ${token.id.slice(0, 8)}`}
          onClick={() => onRevoke(token)}
        >
          Revoke
        </Button>
      ),
    },
  ];
}

function Limits({ token }: { readonly token: LimitedToken }) {
  const { tables, reducers, readOnly, sqlWrites, rowsMax, features } = token;
  return (
    <span className={styles.words}>
      <Badge title={tables?.join(', ')}>
        {tables === undefined ? 'public tables' : `${countText(tables.length)} tables`}
      </Badge>
      {!readOnly && (
        <Badge title={reducers?.join(', ')}>
          {reducers === undefined ? 'public reducers' : `${countText(reducers.length)} reducers`}
        </Badge>
      )}
      {readOnly && <Badge kind="good">read only</Badge>}
      {sqlWrites && <Badge kind="warn">SQL writes</Badge>}
      {rowsMax !== undefined && <Badge>{countText(rowsMax)} rows</Badge>}
      {features?.map((feature) => (
        <Badge key={feature}>{feature}</Badge>
      ))}
    </span>
  );
}
