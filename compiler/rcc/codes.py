"""The table of codes. A code is never used again for something else."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A code's kebab-case name, its usual severity and what it is about in one line."""

    name: str
    severity: str
    title: str


_TABLE = """
RCC001 not-utf8 error the file is not UTF-8 text
RCC002 byte-order-mark warning the file starts with a byte order mark
RCC003 invalid-toml error the file is not valid TOML
RCC004 duplicate-key error a key is defined twice
RCC005 file-too-large error the file is larger than rcc reads
RCC006 nesting-too-deep error arrays, tables or a dotted key are nested too deep
RCC007 unreadable-file error the file cannot be read
RCC101 captured-key error a top-level key stands under a table header, so the table has it
RCC102 misplaced-key error a key of one table stands in another
RCC103 single-brackets error a table header has single brackets where the key is an array of tables
RCC201 unknown-key error nothing reads this key
RCC202 wrong-type error a value has another type than its key takes
RCC203 out-of-range error a number or the length of an array is out of range
RCC204 missing-key error a key that must be there is missing
RCC205 invalid-value error a value is not one that its key takes
RCC206 conflicting-keys error two keys cannot stand together
RCC207 invalid-id error an id that files, units and objects cannot be called by
RCC208 extends-loop error recipes extend each other in a loop
RCC209 requires-rcc error the recipe wants another version of rcc
RCC302 undefined-name error a template uses a name that is not defined
RCC303 late-bound-name error a name that is known only on the node stands where a build needs its value
RCC304 needs-lock error a template uses a name that only the lock knows
RCC305 unset-name error a template uses a name that this node or cluster gives no value
RCC306 filled-value error a value is not one that its key takes once its templates are filled
RCC401 set-by-compiler error the environment sets what the compiler sets for each rank
RCC402 node-overrides-recipe warning a node's environment changes a value of the recipe's
RCC501 compiler-owned-flag error an argument sets what a recipe key decides
RCC502 unknown-engine error no engine of this name is built in or installed
RCC608 image-architecture error the image has no manifest for a node's architecture
RCC610 lock-stale error the lock does not answer what the recipe asks
RCC611 lock-missing error there is no lock
RCC612 invalid-lock error the lock is not one that rcc wrote
RCC613 lock-merge-conflict error the lock holds git's merge markers
RCC614 lock-version error the lock is of a version that this rcc does not read
RCC615 lock-hand-edited error parts of the lock do not belong together
RCC616 lock-not-canonical warning the lock is laid out in another way than rcc writes it
RCC617 lock-not-written error the lock could not be written
RCC618 not-pinned error something is not pinned, and the build was to be locked
RCC701 carried-file-refused error a relative mount source is not a file that the artifacts can carry
RCC702 relative-container-path error a path in the container is not absolute
RCC901 duplicate-node error two nodes have one name or one address
RCC902 too-few-nodes error the cluster has fewer nodes than the recipe requires
RCC903 parallelism-mismatch error the parallel sizes do not fit the nodes and their GPUs
RCC904 unknown-topology error no NCCL profile of this name, or several and none chosen
RCC905 no-cluster error the recipe needs a cluster file and none was found
RCC906 unknown-node error no node of this name in the cluster
RCC907 unknown-hardware error no hardware profile of this name
RCC908 port-clash error two things listen on one port
RCC909 gid-without-hca error the GID index is to be found and no HCA list says where
RCC910 no-fabric-address error a node of a group has no address to meet the others at
RCC911 no-model-cache error a Hub model is served and the cluster has no `hf_cache`
RCC1090 unknown-target error no target of this name is installed
RCC1091 broken-plugin error a plug-in cannot be loaded, or fails
RCC1092 ambiguous-plugin error two distributions bring a plug-in of one name
RCC1093 misplaced-artifact error a target gave a file where it may not
RCC1101 output-refused error what `-o` names is not rcc's to replace
RCC1102 result-not-written error a result cannot be written
RCC1103 no-result error there is no result where one is looked for
RCC1104 unreadable-result error a manifest, or the order of builds, is not as rcc writes it
RCC1105 stale-artifact error an artifact is not what a build gives now
RCC1106 missing-artifact error an artifact is not there
RCC1107 extra-file error a file in a result is none of its artifacts
RCC1108 changed-mode error a file of a result has another mode
RCC1109 changed-artifact error a file of a result is not what its manifest says
RCC1110 only-inputs-differ info a result's inputs changed, its artifacts did not
RCC1111 not-reproducible error two builds of the same inputs differ
RCC1112 no-former-result error there is no former build to go back to
RCC1113 not-reproduced error a report's build comes out differently
RCC1114 other-rcc info a report was made by another version of rcc
RCC1115 report-not-written error a report cannot be written
RCC1116 unreadable-report error a report is not as rcc writes it
RCC1117 node-differs error what is on the node is not what the result names
RCC1118 not-comparable error two things that cannot be compared
RCC1119 file-exists error a file that would be written is there already
RCC1001 nul-in-value error a value holds a NUL character
RCC1002 not-unicode-value error a value holds bytes that are not UTF-8
RCC1003 value-too-long error a value is longer than a process can be given
RCC1004 program-not-portable error the program's name is one that tools read differently
RCC1005 path-not-portable error a mounted path is one that tools read differently
RCC1006 variable-not-portable error a variable's name is one that does not arrive
RCC1007 name-not-portable error a node or container has a name that files cannot have
RCC1201 lock-extra-missing error what `rcc lock` needs is not installed
RCC1202 source-unreachable error a registry or hub does not answer
RCC1203 login-refused error a registry or hub refuses the login, or wants one
RCC1204 image-not-found error the registry does not have the image
RCC1205 rate-limited error a registry or hub wants no more requests for now
RCC1206 bad-registry-answer error a registry answers something that no registry may
RCC1207 image-without-platform error the image names no platform that it is for
RCC1208 image-layout error an OCI layout does not give the image
RCC1209 image-daemon error docker or podman does not give the image
RCC1210 stored-login-unreadable warning a stored login cannot be read
RCC1211 model-gated error the model is gated
RCC1212 model-not-found error the hub does not have the model, or not for this login
RCC1213 revision-not-found error the model has no such branch, tag or commit
RCC1214 bad-hub-answer error the hub answers something that it may not
RCC1215 staging-source error a checkpoint cannot be staged as asked
RCC1216 model-cache error a Hugging Face cache does not give the model
RCC1217 blob-damaged error a file in the cache is not what its name says
RCC1218 model-moved warning the model has another name by now
RCC1219 tag-moved warning a tag or branch names something else by now
RCC1220 locked-gone error what the lock names is not there any more
RCC1221 nothing-to-upgrade error what is to be upgraded is not in the recipe
"""


def _parse(table: str) -> dict[str, Code]:
    codes = {}
    for line in table.strip().splitlines():
        code, name, severity, title = line.split(" ", 3)
        codes[code] = Code(name, severity, title)
    return codes


CODES = _parse(_TABLE)
