import { WafStateError } from '../contract/errors.js';

/** What an application can allow or refuse. `store.get` is opening a store. */
export type StorePermission =
  | 'store.get'
  | 'store.info'
  | 'store.key.get'
  | 'store.key.set'
  | 'store.key.delete'
  | 'store.key.has'
  | 'store.key.list';

export interface PermissionRequest {
  readonly permission: StorePermission;
  /** The id of the store. */
  readonly store: string;
  /** Of `store.key.list` the prefix. */
  readonly key: string | undefined;
  /** What was given to `open`. */
  readonly actor: unknown;
}

/** Whether it is allowed: only `true` is. Called before every operation, so it should be quick. */
export type Permissions = (request: PermissionRequest) => boolean | Promise<boolean>;

/**
 * Rejects with `permission_denied`. A hook that throws has not allowed anything either. Returns undefined, and no promise, where nothing has to
 * be asked.
 */
export function requirePermission(
  permissions: Permissions | undefined,
  request: PermissionRequest,
): Promise<void> | undefined {
  return permissions === undefined ? undefined : ask(permissions, request);
}

async function ask(permissions: Permissions, request: PermissionRequest): Promise<void> {
  let allowed: unknown;
  let cause: unknown;
  try {
    allowed = await permissions(request);
  } catch (error) {
    cause = error;
  }
  if (allowed === true) return;
  throw new WafStateError(
    'permission_denied',
    `the application's permissions refuse ${request.permission} on store '${request.store}'${cause === undefined ? '' : ': they failed, see the cause'}`,
    { details: { option: request.permission }, cause },
  );
}
