/** Host tools live in sbin as often as in bin, and a service's PATH may be without it. */
export const TOOL_PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin';

/** The environment of the driver's scripts. */
export const SCRIPT_ENVIRONMENT = {
  PATH: TOOL_PATH,
  LANG: 'C',
  LC_ALL: 'C',
  // The newer mount interface caps the length of overlay options far lower.
  LIBMOUNT_FORCE_MOUNT2: 'always',
};
