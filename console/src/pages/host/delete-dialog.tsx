import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Loading, Notice } from '../../parts/state.tsx';
import { complain, say } from '../../parts/toast.tsx';
import { deleteDatabase } from '../../service/databases.ts';
import { useLoad } from '../../service/load.ts';
import { readRights } from '../../service/rights.ts';

interface DeleteDialogProps {
  readonly database: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** Deletes a database once its name was typed. Without the right to do so, says that first. */
export function DeleteDialog({ database, onClose, onDeleted }: DeleteDialogProps) {
  const rights = useLoad(database, (signal) => readRights(database, signal));
  const title = `Delete ${database}`;
  const remove = async () => {
    try {
      await deleteDatabase(database);
      say(`${database} was deleted`);
      onDeleted();
    } catch (error) {
      complain(`${database} was not deleted`, error);
    }
  };
  if (rights.value?.may.delete === true) {
    return (
      <Confirm title={title} action="Delete" typed={database} onConfirm={remove} onClose={onClose}>
        <p>
          Its tables, its log, its programs and its static files are removed from this service.
          Backups in other places stay. This cannot be undone.
        </p>
      </Confirm>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} foot={<Button onClick={onClose}>Close</Button>}>
      {rights.value === undefined && rights.error === undefined ? (
        <Loading lines={2} />
      ) : (
        <Notice kind="warn">
          {rights.error?.message ?? 'Only its owner, or an operator of the service, can delete it.'}
        </Notice>
      )}
    </Dialog>
  );
}
