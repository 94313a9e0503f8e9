import pytest

pytest.register_assert_rewrite("contracts.journal_contract", "store.books")
