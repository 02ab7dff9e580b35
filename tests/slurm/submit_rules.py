"""The submit script of a simulated site, job_submit.lua: what it refuses beyond what Slurm itself does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.slurm.shape import Shape

# How the script sees that an option was given; `j` is the job's description.
GIVEN = {
    "--account": "j.account ~= nil",
    "--partition": "j.partition ~= nil",
    "--qos": "j.qos ~= nil",
    "--constraint": "j.features ~= nil",
    "--time": "j.time_limit ~= slurm.NO_VAL",
    "--mem": "j.pn_min_memory ~= slurm.NO_VAL64",
    "--gpus": "j.tres_per_job ~= nil",
    "--gpus-per-node": "j.tres_per_node ~= nil",
    "--gpus-per-task": "j.tres_per_task ~= nil",
    "--nodelist": "j.req_nodes ~= nil",
    "--reservation": "j.reservation ~= nil",
}


def job_submit_lua(shape: Shape) -> str:
    """The text of job_submit.lua. Raises KeyError for an option that such a script cannot see here."""
    rules = "\n".join(f"    {rule}" for rule in [*options(shape), *names(shape)])
    return f"""\
local function refuse(text)
    slurm.log_user(text)
    return slurm.ERROR
end

local function is_one_of(name, allowed)
    for _, one in ipairs(allowed) do
        if one == name then return true end
    end
    return false
end

function slurm_job_submit(j, parts, uid)
{rules}
    return slurm.SUCCESS
end

function slurm_job_modify(j, record, parts, uid)
    return slurm.SUCCESS
end
"""


def options(shape: Shape) -> Iterator[str]:
    for option in shape.required:
        yield f'if not ({GIVEN[option]}) then return refuse("{option} is required here.") end'
    for option in shape.refused:
        yield f'if {GIVEN[option]} then return refuse("{option} is not allowed here.") end'


def names(shape: Shape) -> Iterator[str]:
    for field, allowed in (("account", shape.accounts), ("qos", shape.qos)):
        if allowed:
            unknown = f"j.{field} ~= nil and not is_one_of(j.{field}, {table(allowed)})"
            yield f'if {unknown} then return refuse("There is no {field} " .. j.{field} .. " here.") end'


def table(texts: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{text}"' for text in texts) + "}"
